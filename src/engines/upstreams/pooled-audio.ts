import { type SpeechFormat, speechFormats } from '#contract/operations/audio.ts'
import type { MusicEngine, SpeechEngine, TranscriptionEngine, VoiceCall } from '../ports/media-engines.ts'
import { carriedByAll, type JobEngine, pooledJobs } from './pooled-engines.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** Engines of sound, over several upstreams. */

/** A voice of a recording is known to the upstream alone that made it, so none is made over several. */
export const pooledSpeech = (pool: UpstreamPool<SpeechEngine>): SpeechEngine => ({
  carries: carriedByAll(pool),
  ...(pool.engines.length === 1 && pool.engines[0]?.cloneVoice ? { cloneVoice: call => clonedBy(pool, call) } : {}),
  speak: call => pool.answer(call, (engine, asked) => engine.speak(asked)),
  formats: () => formatsOfAll(pool.engines),
})

const clonedBy = (pool: UpstreamPool<SpeechEngine>, call: VoiceCall): Promise<string> =>
  pool.answer(call, (engine, asked) => {
    if (!engine.cloneVoice) throw new Error('The engine makes no voices.')
    return engine.cloneVoice(asked)
  })

/** Whichever of them is asked has to be able to make what was promised. */
async function formatsOfAll(engines: readonly SpeechEngine[]): Promise<readonly SpeechFormat[]> {
  const made = await Promise.all(engines.map(engine => engine.formats?.() ?? speechFormats))
  return speechFormats.filter(format => made.every(formats => formats.includes(format)))
}

export const pooledTranscription = (pool: UpstreamPool<TranscriptionEngine>): TranscriptionEngine => ({
  carries: carriedByAll(pool),
  transcribe: call => pool.answer(call, (engine, asked) => engine.transcribe(asked)),
})

export const pooledMusic = (pool: UpstreamPool<MusicEngine>): MusicEngine => ({
  carries: carriedByAll(pool),
  ...pooledJobs(pool as UpstreamPool<JobEngine<Parameters<MusicEngine['start']>[0]>>),
})
