import type { ModelRecord } from '#contract/models.ts'
import { choiceNames } from './bounds.ts'
import { strangeId } from './from-outside.ts'

type Spec = ModelRecord['model_spec']

/**
 * What a model of pictures or sound lets a request choose, such as `voices anna, ben (default)` and `duration_seconds 1 to
 * 30`: the members by the names that tools give them. Empty for other models.
 */
export const modelChoices = ({ model_spec: spec }: ModelRecord): string[] => [
  ...pictureChoices(spec.constraints),
  ...soundChoices(spec),
]

function pictureChoices(constraints: Spec['constraints']): string[] {
  if (!constraints || !('promptCharacterLimit' in constraints)) return []
  const { aspectRatios, resolutions, qualities, promptCharacterLimit } = constraints
  return [
    ...among('aspect_ratio', aspectRatios),
    ...among('resolution', resolutions, constraints.defaultResolution),
    ...among('quality', qualities, constraints.defaultQuality),
    ...('widthHeightDivisor' in constraints
      ? [`width and height in steps of ${constraints.widthHeightDivisor}`]
      : [constraints.combineImages ? 'several pictures' : 'one picture']),
    `prompt up to ${promptCharacterLimit} characters`,
  ]
}

function soundChoices(spec: Spec): string[] {
  return [
    ...among('voice', spec.voices, spec.default_voice),
    ...among('format', spec.supported_formats, spec.default_format),
    ...durations(spec),
    ...(spec.supports_speed && spec.min_speed !== undefined ? [`speed ${spec.min_speed} to ${spec.max_speed}`] : []),
    ...(spec.supports_lyrics
      ? [`lyrics_prompt${upTo(spec.lyrics_character_limit)}${needed(spec.lyrics_required)}`]
      : []),
    ...(spec.supports_force_instrumental ? ['force_instrumental'] : []),
    ...(spec.supports_language_code ? ['language_code'] : []),
    ...(spec.prompt_character_limit === undefined ? [] : [`prompt${upTo(spec.prompt_character_limit)}`]),
  ]
}

function durations({ duration_options, min_duration, max_duration, default_duration }: Spec): string[] {
  if (duration_options) return among('duration_seconds', duration_options.map(String), String(default_duration))
  return min_duration === undefined ? [] : [`duration_seconds ${min_duration} to ${max_duration}`]
}

/** A list that is too long for a model's context is cut, and says so. */
function among(name: string, values: readonly string[] | undefined, byItself?: string): string[] {
  if (!values || values.length === 0) return []
  const shown = values.slice(0, choiceNames)
  const named = shown.map(value => `${strangeId(value)}${value === byItself ? ' (default)' : ''}`)
  const rest = values.length - shown.length
  return [`${name} ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

const upTo = (characters: number | undefined): string =>
  characters === undefined ? '' : ` up to ${characters} characters`

const needed = (isRequired: boolean | undefined): string => (isRequired ? ', needed' : '')
