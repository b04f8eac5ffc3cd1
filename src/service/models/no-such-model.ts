import { modelNotFound } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { nearNames } from '#contract/schemas.ts'
import { namedModels } from './bounds.ts'
import type { Model } from './model.ts'

/**
 * The 404 of a name that no model of this type has, with the ids that are meant perhaps and where all of them are
 * listed. It repeats nothing of what was sent: a name that is found under another type is one of ours.
 */
export function noSuchModel(type: Model['type'], name: string, models: readonly Model[]): ServiceError {
  const ids = models.filter(model => model.type === type).map(({ id }) => id)
  const other = models.find(model => model.type !== type && model.id === name)
  const near = other ? [] : nearNames(name, ids, namedModels)
  const shown = near.length ? near : ids.slice(0, namedModels)
  const what = other ? `: ${other.id} is of the type ${other.type}, and this takes the type ${type}` : ''
  if (!shown.length) return modelNotFound(undefined, `${what}. This service has none of the type ${type}.`)
  const which = near.length ? `Similar ones of the type ${type}` : `Models of the type ${type}`
  return modelNotFound(undefined, `${what}. ${which}: ${shown.join(', ')}; GET /models?type=${type} lists them all.`)
}
