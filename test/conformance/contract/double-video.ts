import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DemoSpeech } from '#engines/demo/audio.ts'
import type {
  JobProgress,
  MusicCall,
  MusicEngine,
  SpeechCall,
  VideoCall,
  VideoEngine,
} from '#engines/ports/media-engines.ts'
import { demoSpeech } from '#service/models/demo-models.ts'
import type { SpeechModel } from '#service/models/model.ts'

/** Has every piece at once, in a folder of its own: a few bytes that say that they are one. */
export class DoubleMusic implements MusicEngine {
  readonly carries = () => true
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async start({ request, jobId }: MusicCall): Promise<JobProgress> {
    if (request.prompt.includes(refusedWord)) {
      return { state: 'failed', reason: 'The prompt is not allowed.', contentPolicy: true }
    }
    const path = join(this.#folder, `${jobId}.flac`)
    await writeFile(path, 'fLaC music')
    return { state: 'completed', path, mimeType: 'audio/flac' }
  }

  poll(call: MusicCall): Promise<JobProgress> {
    return this.start(call)
  }
}

const hum = new DemoSpeech()

/** The demonstration, with an engine that takes any recording for a voice. */
export const cloningSpeech: SpeechModel = {
  ...demoSpeech(),
  id: 'double-voice',
  traits: [],
  voiceCloning: { mode: 'zero_shot', acceptedFormats: ['wav'], minimumSampleSeconds: 1 },
  engine: {
    carries: hum.carries,
    speak: (call: SpeechCall) => hum.speak(call),
    formats: hum.formats,
    cloneVoice: async () => 'demo-low',
  },
}

/** What its prompt must hold for the engine to refuse it. */
export const refusedWord = 'forbidden'

/** Has every video at once, in a folder of its own: a few bytes that say that they are one. */
export class DoubleVideo implements VideoEngine {
  readonly carries = () => true
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async start({ request, jobId }: VideoCall): Promise<JobProgress> {
    if (request.prompt.includes(refusedWord)) {
      return { state: 'failed', reason: 'The prompt is not allowed.', contentPolicy: true }
    }
    const path = join(this.#folder, `${jobId}.mp4`)
    await writeFile(path, '\0\0\0\x18ftypisom')
    return { state: 'completed', path, mimeType: 'video/mp4' }
  }

  poll(call: VideoCall): Promise<JobProgress> {
    return this.start(call)
  }
}
