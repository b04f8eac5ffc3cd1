import { simpleGenerateImage } from '#contract/images.ts'
import { answerSimpleImage } from '../images/simple-generate-image.ts'
import { route } from '../route.ts'

export const simpleGenerateImageRoute = route(simpleGenerateImage, async (call, service) =>
  answerSimpleImage(call, call.body, service),
)
