import { backgroundRemoveImage } from '#contract/image-edits.ts'
import { answerRemoveBackground } from '../images/remove-background.ts'
import { route } from '../route.ts'

export const backgroundRemoveImageRoute = route(backgroundRemoveImage, async (call, service) =>
  answerRemoveBackground(call, call.body, service),
)
