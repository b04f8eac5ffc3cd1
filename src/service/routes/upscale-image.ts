import { upscaleImage } from '#contract/image-edits.ts'
import { answerUpscaleImage } from '../images/upscale-image.ts'
import { route } from '../route.ts'

export const upscaleImageRoute = route(upscaleImage, async (call, service) =>
  answerUpscaleImage(call, call.body, service),
)
