import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import type { ModelRecord } from '#contract/operations/models.ts'

/** The most that any of the models takes which may answer for this one; null where one of them has no bound. */
export function mostOfAnswering(
  record: ModelRecord,
  records: readonly ModelRecord[],
  boundAt: (model: ModelRecord) => MicroUsd | null,
): MicroUsd | null {
  const models = answeringModels(record, records)
  return models && mostOf(models, boundAt)
}

/** The most that any of these takes; null where one of them has no bound. */
export function mostOf(
  records: readonly ModelRecord[],
  boundAt: (model: ModelRecord) => MicroUsd | null,
): MicroUsd | null {
  let most: MicroUsd = zeroUsd
  for (const record of records) {
    const amount = boundAt(record)
    if (amount === null) return null
    if (amount > most) most = amount
  }
  return most
}

/**
 * The model itself, and where its service may answer by a replacement, that one as well, and so on: on which day it begins
 * to is the service's to say. Null where a replacement is not known.
 */
function answeringModels(record: ModelRecord, records: readonly ModelRecord[]): ModelRecord[] | null {
  const models = [record]
  for (let last: ModelRecord = record; last.model_spec.deprecation?.autoRemap; ) {
    const { replacementModelId: id } = last.model_spec.deprecation
    if (models.some(model => model.id === id)) return models
    const next = records.find(model => model.id === id)
    if (!next) return null
    models.push(next)
    last = next
  }
  return models
}
