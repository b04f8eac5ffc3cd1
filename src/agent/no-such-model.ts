import type { ModelRecord, ModelType } from '#contract/models.ts'
import { zeroUsd } from '#contract/money.ts'
import { strangeId } from '#toolkit/from-outside.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { nearModels, shownIdCharacters } from './bounds.ts'
import { nearNames } from './near-names.ts'

/**
 * Why nobody can chat by this id: `record` is what the service has by it, null for nothing. It names the text models most
 * like it, or some where none is.
 */
export function noTextModel(id: string, record: ModelRecord | null, records: readonly ModelRecord[]): ToolFailure {
  const named = strangeId(id, shownIdCharacters)
  const texts = records.filter(({ type }) => type === 'text').map(model => strangeId(model.id, shownIdCharacters))
  const near = nearNames(id, texts, nearModels)
  const ids = record && near.length === 0 ? texts.slice(0, nearModels) : near
  const listed = `${record ? 'Text models' : 'Similar ones'} are ${ids.join(', ')}; models_find has them all.`
  return new ToolFailure({
    happened: record ? `${named} is no text model; it ${doings[record.type]}.` : `The service has no model ${named}.`,
    charged: zeroUsd,
    next: ids.length > 0 ? listed : 'Look at models_find for ids.',
  })
}

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
}
