import { generateImage } from '#contract/images.ts'
import { answerGenerateImage } from '../images/generate-image.ts'
import { route } from '../route.ts'

export const generateImageRoute = route(generateImage, async (call, service) =>
  answerGenerateImage(call, call.body, service),
)
