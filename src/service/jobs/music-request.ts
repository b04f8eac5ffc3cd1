import type { AudioQueueRequest } from '#contract/operations/audio.ts'
import type { MusicRequest } from '#engines/ports/media-engines.ts'
import type { MusicModel } from '../models/audio-models.ts'

/** What a request comes to once the model's defaults stand in for what it leaves out. It has passed `checkMusic`. */
export function musicRequest(model: MusicModel, asked: AudioQueueRequest): MusicRequest {
  const { prompt, lyrics_prompt: lyrics, language_code: languageCode, speed } = asked
  const voice = asked.voice ?? model.voices[0]
  return {
    prompt,
    seconds: asked.duration_seconds ?? model.durations.default,
    isInstrumental: asked.force_instrumental ?? false,
    writesLyrics: asked.lyrics_optimizer ?? false,
    ...(lyrics ? { lyrics } : {}),
    ...(voice === undefined ? {} : { voice }),
    ...(languageCode === undefined ? {} : { languageCode }),
    ...(speed === undefined ? {} : { speed }),
  }
}
