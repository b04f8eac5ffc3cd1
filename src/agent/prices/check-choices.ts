import { zeroUsd } from '#contract/money.ts'
import { createSpeech, queueAudio } from '#contract/operations/audio.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import { editImage, generateImage, multiEditImage } from '#contract/operations/images.ts'
import { type ModelRecord, type ModelType, modelsNamed } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { queueVideo, quoteVideo } from '#contract/operations/video.ts'
import { unsentValues } from '#toolkit/input/explain-refusal.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { defaultModel, type ModelRecords, noSuchModel } from './model-records.ts'

/**
 * Checks a tool's call against its model's record before anything is sent or paid. Throws `ToolFailure` that names the
 * members. Anything that the record does not list is left to the service, which may support more voices, names and
 * models than it lists.
 */
export async function checkChoices(models: ModelRecords, { id }: Pick<Operation, 'id'>, body: unknown): Promise<void> {
  const check = checks.get(id)
  if (!check) return
  const asked = body as Asked
  const name = asked.model ?? asked.modelId ?? defaultModel
  // Without a list, the call itself reports what is wrong.
  const records = await models.all().catch(() => [])
  const [record] = modelsNamed(records, check.type, name)
  if (!record && (check.type === 'video' || check.type === 'music')) refuseOther(check.type, name, records)
  // Another model, with another record, may answer for a deprecated one.
  if (!record || record.model_spec.deprecation) return
  const refused = check.refused(record.model_spec, asked)
  if (refused.length === 0) return
  throw new ToolFailure({
    happened: unsentValues,
    charged: zeroUsd,
    refused: refused.map(member => ({ name: member, reason: '' })),
    next: 'Compare them with the model’s record from models_find, then call again.',
  })
}

/** A service that lists no model of the type may have one anyway. */
function refuseOther(type: 'video' | 'music', name: unknown, records: readonly ModelRecord[]): void {
  const other = records.find(({ id }) => id === name)
  if (other && records.some(each => each.type === type)) throw noSuchModel(type, other.id, other, records)
}

type Asked = Readonly<Record<string, unknown>>
type Spec = ModelRecord['model_spec']
type Check = (spec: Spec, asked: Asked) => string[]

const videoChecks: Check = ({ constraints }, asked) => {
  if (!constraints || !('durations' in constraints)) return []
  const { durations, resolutions, aspect_ratios: ratios, upscale_factors: factors } = constraints
  return [
    ...outside('duration', asked, durations),
    ...outside('resolution', asked, resolutions),
    ...outside('aspect_ratio', asked, ratios),
    ...outside('upscale_factor', asked, factors),
    ...longer('prompt', asked, constraints.prompt_character_limit),
  ]
}

const imageChecks: Check = ({ constraints }, asked) => {
  if (!constraints || !('promptCharacterLimit' in constraints)) return []
  const { aspectRatios = [], resolutions, qualities, promptCharacterLimit } = constraints
  const divisor = 'widthHeightDivisor' in constraints ? constraints.widthHeightDivisor : 1
  return [
    // `auto` is the contract's name for the image's own ratio.
    ...outside('aspect_ratio', asked, aspectRatios.length > 0 ? [...aspectRatios, 'auto'] : []),
    ...outside('resolution', asked, resolutions),
    ...outside('quality', asked, qualities),
    ...['width', 'height'].filter(side => typeof asked[side] === 'number' && asked[side] % divisor !== 0),
    ...longer('prompt', asked, promptCharacterLimit),
  ]
}

const musicChecks: Check = (spec, asked) => [
  ...outside('duration_seconds', asked, spec.duration_options),
  ...beyond('duration_seconds', asked, spec.min_duration, spec.max_duration),
  ...beyond('speed', asked, spec.min_speed, spec.max_speed),
  ...longer('prompt', asked, spec.prompt_character_limit),
  ...longer('lyrics_prompt', asked, spec.lyrics_character_limit),
]

const checks: ReadonlyMap<Operation['id'], { type: ModelType; refused: Check }> = new Map<
  Operation['id'],
  { type: ModelType; refused: Check }
>([
  [queueVideo.id, { type: 'video', refused: videoChecks }],
  [quoteVideo.id, { type: 'video', refused: videoChecks }],
  [generateImage.id, { type: 'image', refused: imageChecks }],
  [editImage.id, { type: 'inpaint', refused: imageChecks }],
  [multiEditImage.id, { type: 'inpaint', refused: imageChecks }],
  [queueAudio.id, { type: 'music', refused: musicChecks }],
  [
    createSpeech.id,
    { type: 'tts', refused: (spec, asked) => outside('response_format', asked, spec.supported_formats) },
  ],
  [
    createEmbedding.id,
    { type: 'embedding', refused: (spec, asked) => beyond('dimensions', asked, undefined, spec.embeddingDimensions) },
  ],
])

/** An empty or missing list says nothing about what is refused. */
const outside = (name: string, asked: Asked, allowed: readonly unknown[] = []): string[] =>
  asked[name] === undefined || allowed.length === 0 || allowed.includes(asked[name]) ? [] : [name]

function beyond(name: string, asked: Asked, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) {
  const value = asked[name]
  return typeof value === 'number' && (value < least || value > most) ? [name] : []
}

/** A service may count in other units, but a text with more code points than the limit is too long in all of them. */
function longer(name: string, asked: Asked, most = Number.POSITIVE_INFINITY): string[] {
  const value = asked[name]
  return typeof value === 'string' && value.length > most && [...value].length > most ? [name] : []
}
