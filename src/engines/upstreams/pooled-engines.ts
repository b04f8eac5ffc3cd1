import { type SpeechFormat, speechFormats } from '#contract/operations/audio.ts'
import { isFromEngine, wasAway, wasNotTaken } from '../jobs/once-sent.ts'
import type { Carries, ChatEngine, EmbeddingEngine } from '../ports/engine.ts'
import type {
  BackgroundEngine,
  EditEngine,
  EngineCall,
  ImageEngine,
  JobEngine,
  JobProgress,
  SpeechEngine,
  TranscriptionEngine,
  UpscaleEngine,
  VoiceCall,
} from '../ports/media-engines.ts'
import { isNotBegun } from './upstream.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** Each engine interface, over several upstreams. */

/** Each upstream drops the members that only another one supports. */
export const pooledChat = (pool: UpstreamPool<ChatEngine>): ChatEngine => ({
  passMembers: [...new Set(pool.engines.flatMap(({ passMembers = [] }) => passMembers))],
  hasXSearch: pool.engines.every(({ hasXSearch }) => hasXSearch === true),
  complete: call => pool.answer(call, (engine, asked) => engine.complete(asked)),
  stream: call => pool.stream(call, (engine, asked) => engine.stream(asked)),
})

/** A call may go to any of them, so each must support everything that the call requests. */
const carriedByAll =
  <Choice extends string>(pool: UpstreamPool<{ carries: Carries<Choice> }>): Carries<Choice> =>
  (field, value) =>
    pool.engines.every(engine => engine.carries(field, value))

export const pooledEmbeddings = (pool: UpstreamPool<EmbeddingEngine>): EmbeddingEngine => ({
  carries: carriedByAll(pool),
  embed: call => pool.answer(call, (engine, asked) => engine.embed(asked)),
})

export const pooledImages = (pool: UpstreamPool<ImageEngine>): ImageEngine => ({
  carries: carriedByAll(pool),
  generate: call => pool.answer(call, (engine, asked) => engine.generate(asked)),
})

/** The job's state names the upstream that has it, because no other upstream could be polled for it. */
export const pooledJobs = <Call extends EngineCall, Choice extends string>(
  pool: UpstreamPool<JobEngine<Call, Choice>>,
): JobEngine<Call, Choice> => ({
  carries: carriedByAll(pool),
  async start(call) {
    // Once a job may have begun, another upstream would make a second video.
    const begun = await pool.answerBy(call, (engine, asked) => engine.start(asked), isNotBegun, isFromEngine)
    return ofUpstream(begun.value, begun.upstream)
  },
  async poll(call, { upstream, state }) {
    const member = typeof upstream === 'string' ? pool.named(upstream) : null
    if (!member || typeof upstream !== 'string') {
      return { state: 'failed', reason: 'The upstream of this job is no longer configured.' }
    }
    const { engine, engineModel } = member
    const progress = await engine.poll({ ...call, engineModel }, state as Record<string, unknown>)
    if (isFromEngine(progress)) pool.proved(upstream)
    if (!wasNotTaken(progress)) return ofUpstream(progress, upstream)
    // Many engines send a job only when it is polled, so it is only known now that this upstream cannot take it. If all
    // others are full, the job waits for this one, and its row must no longer say that it was about to be sent.
    const judged = { isAway: wasAway(progress), isProof: isFromEngine }
    const begun = await pool.elsewhere(call, upstream, (other, asked) => other.start(asked), judged).catch(() => null)
    return begun ? ofUpstream(begun.value, begun.upstream) : ofUpstream(progress, upstream)
  },
})

const ofUpstream = (progress: JobProgress, upstream: string): JobProgress =>
  progress.state === 'running' ? { ...progress, engineState: { upstream, state: progress.engineState } } : progress

/** Audio engines, over several upstreams. */

/** Only the upstream that cloned a voice knows it, so voices cannot be cloned over several. */
export const pooledSpeech = (pool: UpstreamPool<SpeechEngine>): SpeechEngine => ({
  carries: carriedByAll(pool),
  ...(pool.engines.length === 1 && pool.engines[0]?.cloneVoice ? { cloneVoice: call => clonedBy(pool, call) } : {}),
  speak: call => pool.answer(call, (engine, asked) => engine.speak(asked)),
  formats: () => formatsOfAll(pool.engines),
})

const clonedBy = (pool: UpstreamPool<SpeechEngine>, call: VoiceCall): Promise<string> =>
  pool.answer(call, (engine, asked) => {
    if (!engine.cloneVoice) throw new Error('The engine cannot create voices.')
    return engine.cloneVoice(asked)
  })

/** Any of them may be called, so all must support the formats that the model offers. */
async function formatsOfAll(engines: readonly SpeechEngine[]): Promise<readonly SpeechFormat[]> {
  const made = await Promise.all(engines.map(engine => engine.formats?.() ?? speechFormats))
  return speechFormats.filter(format => made.every(formats => formats.includes(format)))
}

export const pooledTranscription = (pool: UpstreamPool<TranscriptionEngine>): TranscriptionEngine => ({
  carries: carriedByAll(pool),
  transcribe: call => pool.answer(call, (engine, asked) => engine.transcribe(asked)),
})

/** Engines that start from an image, over several upstreams. */

export const pooledEdits = (pool: UpstreamPool<EditEngine>): EditEngine => ({
  carries: carriedByAll(pool),
  edit: call => pool.answer(call, (engine, asked) => engine.edit(asked)),
})

export const pooledUpscales = (pool: UpstreamPool<UpscaleEngine>): UpscaleEngine => ({
  carries: carriedByAll(pool),
  upscale: call => pool.answer(call, (engine, asked) => engine.upscale(asked)),
})

export const pooledBackgrounds = (pool: UpstreamPool<BackgroundEngine>): BackgroundEngine => ({
  removeBackground: call => pool.answer(call, (engine, asked) => engine.removeBackground(asked)),
})
