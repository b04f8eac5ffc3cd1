import {
  backgroundRemoveImage,
  editImage,
  generateImage,
  listImageStyles,
  multiEditImage,
  simpleGenerateImage,
  upscaleImage,
} from '#contract/operations/images.ts'
import { json } from '../../http/call.ts'
import { route } from '../../http/route.ts'
import { answerEditImage, answerMultiEditImage } from './edit-image.ts'
import { answerGenerateImage } from './generate-image.ts'
import { answerRemoveBackground } from './remove-background.ts'
import { answerSimpleImage } from './simple-generate-image.ts'
import { answerUpscaleImage } from './upscale-image.ts'

export const generateImageRoute = route(generateImage, async (call, service) =>
  answerGenerateImage(call, call.body, service),
)

export const simpleGenerateImageRoute = route(simpleGenerateImage, async (call, service) =>
  answerSimpleImage(call, call.body, service),
)

export const editImageRoute = route(editImage, async (call, service) => answerEditImage(call, call.body, service))

export const multiEditImageRoute = route(multiEditImage, async (call, service) =>
  answerMultiEditImage(call, call.body, service),
)

export const upscaleImageRoute = route(upscaleImage, async (call, service) =>
  answerUpscaleImage(call, call.body, service),
)

export const backgroundRemoveImageRoute = route(backgroundRemoveImage, async (call, service) =>
  answerRemoveBackground(call, call.body, service),
)

export const listImageStylesRoute = route(listImageStyles, async (_call, { catalogue }) => {
  const styles = catalogue.models.flatMap(model => (model.type === 'image' ? model.styles : []))
  return json({ object: 'list', data: [...new Set(styles)].sort() })
})
