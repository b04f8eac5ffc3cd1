import type { ModelRecord } from '#contract/operations/models.ts'
import { choiceNames } from '../bounds.ts'
import { untrustedName } from '../values/untrusted.ts'

type Spec = ModelRecord['model_spec']

/** One choice of a request: the tools' arguments that it is about, and the allowed values in words. */
interface ModelChoice {
  arguments: readonly string[]
  words: string
}

/**
 * Lists what an image or audio model lets a request choose, such as `voices anna, ben (default)` and `duration_seconds
 * 1 to 30`, with the tools' names for members. Empty for other models.
 */
export const modelChoices = (record: ModelRecord): string[] => choicesIn(record).map(({ words }) => words)

/** Lists the choices with the tool arguments that each is about, also for video and embedding models. */
export const everyChoice = (record: ModelRecord): ModelChoice[] => [
  ...choicesIn(record),
  ...videoChoices(record.model_spec.constraints),
  ...(record.model_spec.embeddingDimensions === undefined
    ? []
    : [choice('dimensions', `up to ${record.model_spec.embeddingDimensions}`)]),
]

const choicesIn = ({ model_spec: spec }: ModelRecord): ModelChoice[] => [
  ...imageChoices(spec.constraints),
  ...audioChoices(spec),
]

function imageChoices(constraints: Spec['constraints']): ModelChoice[] {
  if (!constraints || !('promptCharacterLimit' in constraints)) return []
  const { aspectRatios, resolutions, qualities, promptCharacterLimit } = constraints
  return [
    ...among('aspect_ratio', aspectRatios),
    ...among('resolution', resolutions, constraints.defaultResolution),
    ...among('quality', qualities, constraints.defaultQuality),
    'widthHeightDivisor' in constraints
      ? { arguments: ['width', 'height'], words: `width and height in steps of ${constraints.widthHeightDivisor}` }
      : { arguments: ['images'], words: constraints.combineImages ? 'several images' : 'one image' },
    choice('prompt', `up to ${promptCharacterLimit} characters`),
  ]
}

function audioChoices(spec: Spec): ModelChoice[] {
  const formats = spec.supported_formats?.filter(format => format !== samples)
  return [
    ...among('voice', spec.voices, spec.default_voice),
    ...among('format', formats, spec.default_format),
    ...durations(spec),
    ...(spec.supports_speed && spec.min_speed !== undefined
      ? [choice('speed', `${spec.min_speed} to ${spec.max_speed}`)]
      : []),
    ...(spec.supports_lyrics
      ? [choice('lyrics_prompt', `${upTo(spec.lyrics_character_limit)}${needed(spec.lyrics_required)}`)]
      : []),
    ...(spec.supports_force_instrumental ? [choice('force_instrumental')] : []),
    ...(spec.supports_language_code ? [choice('language_code')] : []),
    ...(spec.prompt_character_limit === undefined ? [] : [choice('prompt', upTo(spec.prompt_character_limit))]),
  ]
}

/** Raw samples are not a file that players know, so no tool asks for them. */
const samples = 'pcm'

function videoChoices(constraints: Spec['constraints']): ModelChoice[] {
  if (!constraints || !('durations' in constraints)) return []
  const { durations, resolutions, aspect_ratios, upscale_factors: factors, prompt_character_limit: most } = constraints
  return [
    ...among('duration', durations),
    ...among('resolution', resolutions),
    ...among('aspect_ratio', aspect_ratios),
    ...among('upscale_factor', factors?.map(String)),
    ...(most === undefined ? [] : [choice('prompt', upTo(most))]),
  ]
}

const choice = (name: string, values = ''): ModelChoice => ({
  arguments: [name],
  words: values === '' ? name : `${name} ${values}`,
})

function durations({ duration_options, min_duration, max_duration, default_duration }: Spec): ModelChoice[] {
  if (duration_options) return among('duration_seconds', duration_options.map(String), String(default_duration))
  return min_duration === undefined ? [] : [choice('duration_seconds', `${min_duration} to ${max_duration}`)]
}

/** A list that is too long for a model's context is cut, with a notice. */
function among(name: string, values: readonly string[] | undefined, byItself?: string): ModelChoice[] {
  if (!values || values.length === 0) return []
  const shown = values.slice(0, choiceNames)
  const named = shown.map(value => `${untrustedName(value)}${value === byItself ? ' (default)' : ''}`)
  const rest = values.length - shown.length
  return [choice(name, `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`)]
}

const upTo = (characters: number | undefined): string =>
  characters === undefined ? '' : `up to ${characters} characters`

const needed = (isRequired: boolean | undefined): string => (isRequired ? ', needed' : '')
