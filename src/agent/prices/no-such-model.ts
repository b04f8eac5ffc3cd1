import { zeroUsd } from '#contract/money.ts'
import type { ModelRecord, ModelType } from '#contract/operations/models.ts'
import { nearNames } from '#contract/schemas.ts'
import { nearModels } from '#toolkit/bounds.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { untrustedId, untrustedName } from '#toolkit/values/untrusted.ts'
import { shownIdCharacters } from '../bounds.ts'

/** The service has no model of the type by this name, so nothing was asked, sent or paid. */
export class UnknownModel extends ToolFailure {}

/**
 * Why there is nothing of that type to be bought by this id: `record` is what the service has by it, null for nothing. It
 * names the models of the type that are most like it, or some where none is.
 */
export function noSuchModel(
  type: PricedType,
  id: string,
  record: ModelRecord | null,
  records: readonly ModelRecord[],
): UnknownModel {
  // The caller's own word, not the service's.
  const named = untrustedName(id, shownIdCharacters)
  const { one, many } = kinds[type]
  const names = records.filter(each => each.type === type).map(model => untrustedId(model.id, shownIdCharacters))
  // One that exists is no slip of the pen, so what its name is like tells nothing.
  const near = record ? [] : nearNames(id, names, nearModels)
  const [which, ids] = near.length > 0 ? ['Similar ones', near] : [many, names.slice(0, nearModels)]
  return new UnknownModel({
    happened: record ? `${named} is no ${one}; it ${doings[record.type]}.` : `The service has no model ${named}.`,
    charged: zeroUsd,
    next: ids.length > 0 ? `${which} are ${ids.join(', ')}; models_find has them all.` : 'Look at models_find for ids.',
  })
}

const kinds = {
  text: { one: 'text model', many: 'Text models' },
  embedding: { one: 'model of embeddings', many: 'Models of embeddings' },
  image: { one: 'model of pictures', many: 'Models of pictures' },
  inpaint: { one: 'model that edits pictures', many: 'Models that edit pictures' },
  upscale: { one: 'model that enlarges pictures', many: 'Models that enlarge pictures' },
  background: { one: 'model that removes backgrounds', many: 'Models that remove backgrounds' },
  tts: { one: 'model that speaks', many: 'Models that speak' },
  music: { one: 'model of music', many: 'Models of music' },
  video: { one: 'video model', many: 'Video models' },
  asr: { one: 'model that writes down speech', many: 'Models that write down speech' },
} as const

/** Types whose models are looked up here before they are paid. */
export type PricedType = keyof typeof kinds

/** What models do, as the end of a sentence on one of them. */
const doings: Readonly<Record<ModelType, string>> = {
  asr: 'writes down speech',
  embedding: 'makes vectors of texts',
  image: 'makes pictures',
  music: 'makes music',
  text: 'writes text',
  tts: 'speaks',
  upscale: 'enlarges pictures',
  inpaint: 'edits pictures',
  video: 'makes videos',
  background: 'removes backgrounds',
}
