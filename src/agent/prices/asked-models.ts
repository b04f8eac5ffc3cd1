import type { ModelRecord } from '#contract/models.ts'
import type { MicroUsd } from '#contract/money.ts'
import { named } from '#wallet/terms/quoted.ts'
import { shownIdCharacters } from '../bounds.ts'
import type { ModelRecords } from './model-records.ts'
import { mostOf } from './most-of-answering.ts'
import { noSuchModel, type PricedType } from './no-such-model.ts'

/** What the service takes where a request names none: a trait, which may stand for any model of its type. */
const defaultModel = 'default'

/**
 * The most that any model takes that may answer to this name. Null for a name that is none of the list, because the service
 * may know it as another provider's, and where one of them has no bound. Throws where it names a model of another type.
 */
export async function mostOfAsked(
  models: ModelRecords,
  type: PricedType,
  name: string | undefined,
  boundAt: (record: ModelRecord, all: readonly ModelRecord[]) => MicroUsd | null,
): Promise<MicroUsd | null> {
  const all = await models.allFor(type)
  const asked = modelsOf(all, type, name)
  if (asked.length === 0) return null
  return mostOf(asked, record => boundAt(record, all))
}

/** One by its id; all of the type by a trait of one of them: which it is now may have changed since they were listed. */
function modelsOf(all: readonly ModelRecord[], type: PricedType, name: string = defaultModel): readonly ModelRecord[] {
  const named = all.find(({ id }) => id === name)
  if (named && named.type !== type) throw noSuchModel(type, name, named, all)
  if (named) return [named]
  const ofType = all.filter(record => record.type === type)
  const isTrait = name === defaultModel || ofType.some(({ model_spec: { traits } }) => traits?.includes(name))
  return isTrait ? ofType : []
}

/** A model's name within a sentence. */
export const shownModel = (name: string | undefined): string =>
  name === undefined || name === defaultModel ? 'the default model' : named(name, shownIdCharacters)

/** The model that a call asks for, by the newer name of the member or the older one; empty where it names none. */
export function askedModel(call: object): string {
  const { model, modelId } = (call as { body?: { model?: unknown; modelId?: unknown } }).body ?? {}
  const asked = model ?? modelId
  return typeof asked === 'string' ? asked : ''
}
