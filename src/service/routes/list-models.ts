import { paidOncePerKey } from '#contract/headers.ts'
import { listModels } from '#contract/models.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listModelsRoute = route(listModels, async ({ query, set }, service) => {
  set(paidOncePerKey, true)
  return json({ object: 'list', type: query.type, data: service.catalogue.records(query.type) })
})
