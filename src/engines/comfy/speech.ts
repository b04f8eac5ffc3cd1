import { inferenceFailed } from '#contract/errors/errors.ts'
import type { SpeechFormat } from '#contract/operations/audio.ts'
import { decodeAudio, encodableFormats, encodeAudio, pcmRate } from '../audio/audio-codec.ts'
import { audioOfWav, audioTypeOf, longestRecordingSeconds, speechBytes } from '../audio/recording.ts'
import type { Carries, SpeechChoice } from '../ports/engine.ts'
import type { SpeechCall, SpeechEngine, VoiceCall } from '../ports/media-engines.ts'
import type { ComfyOptions } from './images.ts'
import { ComfyServer, comfyPollMs, comfyRunMs, runWorkflow } from './server.ts'
import { type Placeholder, randomSeed, Workflow, type WorkflowValues } from './workflow.ts'

/** Which placeholder takes each field of a request. */
const placeOf: Record<SpeechChoice, Placeholder> = {
  voice: 'voice',
  speed: 'speed',
  language: 'language',
  prompt: 'style',
  temperature: 'temperature',
  top_p: 'top_p',
}

/**
 * Speaks with a workflow on a ComfyUI server. Its voices are names of audio files in the server's input folder, which a
 * node loads by `{{voice}}`; a voice cloned from a recording is such a file too.
 */
export class ComfySpeech implements SpeechEngine {
  readonly formats = encodableFormats
  readonly #server: ComfyServer
  readonly #workflow: Workflow
  readonly #pollMs: number

  /** Throws a sentence if the address, the key or the workflow is invalid. */
  constructor(options: ComfyOptions) {
    this.#workflow = new Workflow(options.workflow)
    if (!this.#workflow.names.has('prompt'))
      throw new Error('A workflow for speech needs {{prompt}}, the text to speak.')
    this.#server = new ComfyServer(options)
    this.#pollMs = options.pollMs ?? comfyPollMs
  }

  readonly carries: Carries<SpeechChoice> = field => this.#workflow.names.has(placeOf[field])

  async speak({ request, engineModel, signal: caller }: SpeechCall): Promise<Buffer> {
    const { text, voice, speed, language, style, temperature, topP } = request
    const values: WorkflowValues = {
      ...{ prompt: text, voice, speed, model: engineModel, seed: randomSeed() },
      ...(language === undefined ? {} : { language }),
      ...(style === undefined ? {} : { style }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
    }
    const signal = AbortSignal.any([caller, AbortSignal.timeout(comfyRunMs)])
    try {
      const workflow = this.#workflow.filled(values)
      const files = await runWorkflow({ server: this.#server, workflow, pollMs: this.#pollMs, signal })
      const file = files.find(({ filename }) => /\.(wav|mp3|flac|ogg|opus)$/i.test(filename))
      if (!file) throw inferenceFailed()
      return await converted(await this.#server.bytes(file, speechBytes, signal), request.format, signal)
    } catch (error) {
      throw this.#server.known(error, caller)
    }
  }

  /** Uploads the recording and returns the name by which a workflow loads it. */
  async cloneVoice({ sample, signal }: VoiceCall): Promise<string> {
    const { type, bytes } = sample
    try {
      return await this.#server.upload({ extension: type, mimeType: `audio/${type}`, bytes }, signal)
    } catch (error) {
      throw this.#server.known(error, signal)
    }
  }

  close(): Promise<void> {
    return this.#server.close()
  }
}

/** A workflow saves in its own format. */
async function converted(bytes: Buffer, format: SpeechFormat, signal: AbortSignal): Promise<Buffer> {
  const type = audioTypeOf(bytes)
  if (type === null) throw inferenceFailed()
  if (type === format) return bytes
  const wav = type === 'wav' ? audioOfWav(bytes) : null
  if (wav) return encodeAudio(wav, format, signal)
  const asked = { rate: pcmRate, atMostSeconds: longestRecordingSeconds, to: 'pcm', signal } as const
  const decoded = await decodeAudio({ bytes, type }, asked)
  if (typeof decoded === 'string') throw inferenceFailed()
  const { buffer, byteOffset, byteLength } = decoded.bytes
  const samples = new Int16Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer)
  return encodeAudio({ samples, rate: pcmRate }, format, signal)
}
