import { listImageStyles } from '#contract/images.ts'
import { json } from '../call.ts'
import { route } from '../route.ts'

export const listImageStylesRoute = route(listImageStyles, async (_call, { catalogue }) => {
  const styles = catalogue.models.flatMap(model => (model.type === 'image' ? model.styles : []))
  return json({ object: 'list', data: [...new Set(styles)].sort() })
})
