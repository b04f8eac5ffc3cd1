import type { VideoMediaField } from '#contract/operations/video.ts'

/** Fields of a request that change what is bought, by their names in the contract, for each kind of engine. */
export type VideoChoice =
  | 'prompt'
  | 'negative_prompt'
  | 'duration'
  | 'aspect_ratio'
  | 'resolution'
  | 'upscale_factor'
  | 'audio'
  | VideoMediaField
export type ImageChoice =
  | 'prompt'
  | 'negative_prompt'
  | 'width'
  | 'height'
  | 'variants'
  | 'format'
  | 'seed'
  | 'steps'
  | 'cfg_scale'
  | 'style_preset'
/** `images` is how many a request brings. */
export type EditChoice = 'prompt' | 'images' | 'aspect_ratio' | 'resolution' | 'quality' | 'output_format'
export type UpscaleChoice = 'scale' | 'enhance' | 'enhanceCreativity' | 'replication' | 'enhancePrompt'
export type SpeechChoice = 'voice' | 'speed' | 'language' | 'prompt' | 'temperature' | 'top_p'
export type TranscriptionChoice = 'language' | 'timestamps'
export type MusicChoice =
  | 'prompt'
  | 'lyrics_prompt'
  | 'duration_seconds'
  | 'force_instrumental'
  | 'lyrics_optimizer'
  | 'voice'
  | 'language_code'
  | 'speed'
export type EmbeddingChoice = 'dimensions'

/**
 * Whether a value of a field reaches what makes the result. A service refuses what is not carried before it holds money,
 * so that no caller pays for a choice that was dropped.
 */
export type Carries<Choice extends string> = (field: Choice, value: unknown) => boolean

/** For an engine that hands on every field as it is. */
export const carriesAll = (): boolean => true

/** For an engine that hands on these fields, whatever their value. */
export const carriesOnly =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    fields.includes(field)

/** For an engine that hands on all but these. */
export const carriesAllBut =
  <Choice extends string>(...fields: readonly Choice[]): Carries<Choice> =>
  field =>
    !fields.includes(field)
