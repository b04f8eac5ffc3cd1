import { listModelCompatibilityMapping } from '#contract/models.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listModelCompatibilityMappingRoute = route(
  listModelCompatibilityMapping,
  async ({ query: { type } }, { catalogue }) => json({ object: 'list', type, data: catalogue.compatibleIds(type) }),
)
