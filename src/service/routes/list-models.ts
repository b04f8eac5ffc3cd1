import { listModels } from '#contract/models.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listModelsRoute = route(listModels, async ({ query }, service) =>
  json({ object: 'list', type: query.type, data: service.catalogue.records(query.type) }),
)
