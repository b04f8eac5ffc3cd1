import type { ModelRecord, ModelType } from './models.ts'

/**
 * The models of a type that may answer to a name: the one with this id, else those with this trait. Empty for a name that the
 * records don't have; a service may still know it as another provider's.
 */
export function modelsNamed(
  records: readonly ModelRecord[],
  type: ModelType | undefined,
  name: unknown,
): readonly ModelRecord[] {
  const ofType = records.filter(record => type === undefined || record.type === type)
  const byId = ofType.filter(({ id }) => id === name)
  return byId.length > 0 ? byId : ofType.filter(({ model_spec: { traits } }) => traits?.some(trait => trait === name))
}
