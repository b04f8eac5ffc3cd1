import { createResponse } from '#contract/responses.ts'
import { onceLoaded } from '../once-loaded.ts'
import { route } from '../route.ts'

/** Loaded with the first one, as the chat is that it stands on. */
const responses = onceLoaded(() => import('../responses/answer-response.ts'))

export const createResponseRoute = route(createResponse, async (call, service) => {
  const { answerResponse } = await responses()
  return answerResponse(call, call.body, service)
})
