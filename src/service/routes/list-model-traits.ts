import { listModelTraits } from '#contract/models.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listModelTraitsRoute = route(listModelTraits, async ({ query: { type } }, { catalogue }) =>
  json({ object: 'list', type, data: catalogue.traits(type) }),
)
