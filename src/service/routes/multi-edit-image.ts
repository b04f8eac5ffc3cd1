import { multiEditImage } from '#contract/image-edits.ts'
import { answerMultiEditImage } from '../images/edit-image.ts'
import { route } from '../route.ts'

export const multiEditImageRoute = route(multiEditImage, async (call, service) =>
  answerMultiEditImage(call, call.body, service),
)
