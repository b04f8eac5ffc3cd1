import type { ChatCompletionRequest, ChatMessage } from '#contract/operations/chat.ts'
import type { TextModel } from '../../models/model.ts'
import { decidedCharacters, decidedMessages, decisionTokens, queryCharacters } from './bounds.ts'
import { effortOfNone } from './engine-request.ts'
import { textOf } from './message-text.ts'

const instruction = [
  'You decide whether a search of the web is needed before the newest message of this conversation can be answered well:',
  'for what is recent, for facts that you are not sure of, or where the user asks for one. Do not answer the message itself.',
  'Reply with one line: either NO, or SEARCH: followed by the words to search for.',
].join(' ')

/** Asks the model itself whether to search (`auto`: its discretion), and for what. */
export function decisionRequest(model: TextModel, messages: readonly ChatMessage[]): ChatCompletionRequest {
  const newest = messages.filter(({ role }) => role === 'user' || role === 'assistant').slice(-decidedMessages)
  const conversation = newest.map(message => ({
    role: message.role,
    text: textOf(message).slice(0, decidedCharacters),
  }))
  return {
    model: model.id,
    messages: [
      { role: 'system', content: instruction },
      { role: 'user', content: conversation.map(each => JSON.stringify(each)).join('\n') },
    ],
    max_tokens: decisionTokens,
    reasoning_effort: effortOfNone(model),
  }
}

/** The words to search for; null for whatever does not ask for a search in the agreed form. */
export function decidedQuery(answer: string): string | null {
  const query = /^[^\w\n]*SEARCH:\s*(\S.*)$/m.exec(answer)?.[1]?.trim().slice(0, queryCharacters)
  return query || null
}
