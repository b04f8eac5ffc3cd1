import { editImage } from '#contract/image-edits.ts'
import { answerEditImage } from '../images/edit-image.ts'
import { route } from '../route.ts'

export const editImageRoute = route(editImage, async (call, service) => answerEditImage(call, call.body, service))
