import { createResponse } from '#contract/operations/responses.ts'
import { onceLoaded } from '#host/packages.ts'
import { route } from '../../http/route.ts'

/** Loaded with the first one, as the chat is that it stands on. */
const responses = onceLoaded(() => import('./answer-response.ts'))

export const createResponseRoute = route(createResponse, async (call, service) => {
  const { answerResponse } = await responses()
  return answerResponse(call, call.body, service)
})
