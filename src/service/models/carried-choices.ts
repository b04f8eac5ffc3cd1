import { fieldError } from '#contract/errors/issues.ts'
import type { Carries } from '#engines/ports/engine.ts'
import {
  type EditModel,
  type ImageModel,
  isUpscaler,
  type Model,
  type MusicModel,
  type SpeechModel,
  takenMedia,
  type VideoModel,
} from './model.ts'
import { qualitiesOf } from './model-record.ts'

/** A value of a field that a model's record offers to callers. */
type PromisedChoice = readonly [field: string, value: unknown]

/** The first thing that a model promises and this engine cannot carry, as `resolution 720p`; null where there is none. */
export function brokenPromise(model: Model, engine: Model['engine']): string | null {
  // Of an engine of text its search alone is a choice: its requests have an allowlist of members.
  if (model.type === 'text') {
    const searches = 'hasXSearch' in engine && engine.hasXSearch === true
    return model.capabilities.supportsXSearch && !searches ? 'supportsXSearch' : null
  }
  if (!('carries' in engine)) return null
  const carries = engine.carries as Carries<string>
  const broken = promisedChoices(model).find(([field, value]) => !carries(field, value))
  if (!broken) return null
  const [field, value] = broken
  return typeof value === 'string' || typeof value === 'number' ? `${field} ${value}` : field
}

/** A single value is no choice: what makes the result may have it built in. */
const choicesOf = (field: string, values: readonly unknown[]): PromisedChoice[] =>
  values.length > 1 ? values.map(value => [field, value]) : []

const offered = (field: string, isOffered: boolean, value: unknown = true): PromisedChoice[] =>
  isOffered ? [[field, value]] : []

function promisedChoices(model: Model): PromisedChoice[] {
  switch (model.type) {
    case 'video':
      return ofVideo(model)
    case 'image':
      return ofImage(model)
    case 'inpaint':
      return ofEdits(model)
    case 'upscale':
      return [['scale', 2], ['scale', 4], ...offered('enhance', model.hasEnhance)]
    case 'tts':
      return ofSpeech(model)
    case 'asr':
      return offered('timestamps', model.hasTimestamps)
    case 'music':
      return ofMusic(model)
    case 'embedding':
      return offered('dimensions', model.hasDimensions, model.dimensions)
    case 'text':
    case 'background':
      return []
  }
}

function ofVideo(model: VideoModel): PromisedChoice[] {
  const { aspect_ratios: ratios, resolutions, durations, upscale_factors: factors = [] } = model.constraints
  return [
    ...offered('prompt', !isUpscaler(model)),
    ...choicesOf('duration', durations),
    ...choicesOf('resolution', resolutions),
    ...choicesOf('aspect_ratio', ratios),
    ...choicesOf('upscale_factor', factors),
    ...offered('audio', model.constraints.audio_configurable, false),
    ...takenMedia(model).map((field): PromisedChoice => [field, undefined]),
  ]
}

const ofImage = (model: ImageModel): PromisedChoice[] => [
  ['prompt', true],
  ['width', undefined],
  ['height', undefined],
  ...model.formats.map((format): PromisedChoice => ['format', format]),
  ...offered('negative_prompt', model.hasNegativePrompt),
  ...offered('seed', model.hasSeed),
  ...offered('steps', model.steps.max > 1),
  ...model.styles.map((style): PromisedChoice => ['style_preset', style]),
]

const ofEdits = (model: EditModel): PromisedChoice[] => [
  ['prompt', true],
  ['images', model.mostImages],
  ...model.formats.map((format): PromisedChoice => ['output_format', format]),
  // A ratio is always a choice, because a picture keeps its own where none is asked for.
  ...model.aspectRatios.map((ratio): PromisedChoice => ['aspect_ratio', ratio]),
  ...choicesOf('resolution', Object.keys(model.price.resolutions ?? {})),
  ...qualitiesOf(model.price).map((quality): PromisedChoice => ['quality', quality]),
]

const ofSpeech = (model: SpeechModel): PromisedChoice[] => [
  ...model.voices.map((voice): PromisedChoice => ['voice', voice]),
  ...offered('speed', model.hasSpeed),
  ...offered('prompt', model.hasStyle),
  ...offered('temperature', model.hasSampling),
  ...offered('top_p', model.hasSampling),
  ...(model.languages ?? []).map((language): PromisedChoice => ['language', language]),
]

const ofMusic = (model: MusicModel): PromisedChoice[] => [
  ['prompt', true],
  ...('options' in model.durations
    ? choicesOf('duration_seconds', model.durations.options)
    : offered('duration_seconds', model.durations.least < model.durations.most, undefined)),
  ...offered('lyrics_prompt', model.lyrics !== undefined),
  ...offered('force_instrumental', model.hasInstrumental),
  ...offered('lyrics_optimizer', model.hasLyricsOptimizer),
  ...choicesOf('voice', model.voices),
  ...offered('language_code', model.hasLanguageCode),
  ...offered('speed', model.speed !== undefined, undefined),
]

interface Carrier<Choice extends string> {
  id: string
  engine: { carries: Carries<Choice> }
}

/** What a request leaves out, or says without asking for anything. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

/**
 * Every choice of a request must reach what makes the result. Leave schema defaults out of `chosen`: nobody chose those.
 * Throws `invalidRequest` with the first field that would be dropped.
 */
export function requireCarried<Choice extends string>(
  { id, engine }: Carrier<Choice>,
  chosen: Readonly<Partial<Record<Choice, unknown>>>,
): void {
  for (const [name, value] of Object.entries(chosen)) {
    if (isNothing(value) || engine.carries(name as Choice, value)) continue
    throw fieldError([name], `${id} ${refusal(name, value)}; leave it out or choose another model`)
  }
}

/** Short values are shown: another one may be carried. */
function refusal(name: string, value: unknown): string {
  const isShown =
    (typeof value === 'string' && value.length <= 32 && !/^(data|https?):/i.test(value)) || isNumber(value)
  return isShown ? `cannot use ${JSON.stringify(value)} as ${name}` : `cannot use ${name}`
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean'
