import { createTextParser } from '#contract/text-parser.ts'
import { route } from '../route.ts'

/** What reads documents is loaded with the first of them. */
export const createTextParserRoute = route(createTextParser, async (call, service) => {
  const { answerTextParser } = await import('../documents/answer-text-parser.ts')
  return answerTextParser(call, call.body, service)
})
