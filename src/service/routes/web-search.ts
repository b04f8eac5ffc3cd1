import { webSearch } from '#contract/augment.ts'
import { route } from '../route.ts'
import { answerSearch } from '../web/answer-search.ts'

export const webSearchRoute = route(webSearch, async (call, service) => answerSearch(call, call.body, service))
