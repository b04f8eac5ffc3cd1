import { createTextParser } from '#contract/operations/documents.ts'
import { route } from '../../http/route.ts'

/** What reads documents is loaded with the first of them. */
export const createTextParserRoute = route(createTextParser, async (call, service) => {
  const { answerTextParser } = await import('./text-parser.ts')
  return answerTextParser(call, call.body, service)
})
