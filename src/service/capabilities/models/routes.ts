import { listModelCompatibilityMapping, listModels, listModelTraits } from '#contract/operations/models.ts'
import { paidOncePerKey } from '#contract/wire/headers.ts'
import { json, route } from '../../http/route.ts'

export const listModelsRoute = route(listModels, async ({ query, set }, service) => {
  set(paidOncePerKey, true)
  return json({ object: 'list', type: query.type, data: service.catalogue.records(query.type) })
})

export const listModelTraitsRoute = route(listModelTraits, async ({ query: { type } }, { catalogue }) =>
  json({ object: 'list', type, data: catalogue.traits(type) }),
)

export const listModelCompatibilityMappingRoute = route(
  listModelCompatibilityMapping,
  async ({ query: { type } }, { catalogue }) => json({ object: 'list', type, data: catalogue.compatibleIds(type) }),
)
