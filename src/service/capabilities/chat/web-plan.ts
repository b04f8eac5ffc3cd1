import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { ChatCompletion, ChatCompletionRequest, ChatMessage } from '#contract/operations/chat.ts'
import { addressCharacters } from '#engines/fetch/fetcher.ts'
import type { TextModel } from '../../models/model.ts'
import { type WebUse, webPrice } from '../web/price-web.ts'
import {
  contextShare,
  decidedCharacters,
  decidedMessages,
  decisionTokens,
  pagesContextBytes,
  queryCharacters,
  scrapedAddresses,
  searchContextBytes,
} from './bounds.ts'
import { type ChatOptions, effortOfNone } from './chat-options.ts'
import { estimateChat } from './price-chat.ts'

/** What is to be looked at on the web before the model is asked; pages go before a search (brief §2.8). */
export type WebPlan =
  | { kind: 'pages'; urls: readonly string[]; contextBytes: number; mostMicroUsd: MicroUsd }
  | { kind: 'search'; query: string; contextBytes: number; mostMicroUsd: MicroUsd }
  /** The model decides, which costs a question of its own. */
  | { kind: 'auto'; decision: ChatCompletionRequest; contextBytes: number; mostMicroUsd: MicroUsd }

/** Null where nothing is asked for, or there is nothing to look for. */
export function webPlan(
  { echo, searchesX }: ChatOptions,
  model: TextModel,
  request: ChatCompletionRequest,
): WebPlan | null {
  const text = newestText(request.messages)
  const room = Math.floor(model.contextTokens / contextShare)
  const urls = echo.enable_web_scraping ? addressesIn(text) : []
  if (urls.length) {
    return {
      kind: 'pages',
      urls,
      contextBytes: Math.min(room, pagesContextBytes),
      mostMicroUsd: most({ pages: urls.length }),
    }
  }
  const query = text.replaceAll(/\s+/g, ' ').trim().slice(0, queryCharacters)
  if (searchesX || echo.enable_web_search === 'off' || query === '') return null
  const contextBytes = Math.min(room, searchContextBytes)
  if (echo.enable_web_search === 'on')
    return { kind: 'search', query, contextBytes, mostMicroUsd: most({ searches: 1 }) }
  const decision = decisionRequest(model, request.messages)
  const mostMicroUsd = microUsd(most({ searches: 1 }) + holdOf(model, decision))
  return { kind: 'auto', decision, contextBytes, mostMicroUsd }
}

const most = (use: Partial<WebUse>): MicroUsd => webPrice({ searches: 0, pages: 0, ...use })

/** Its length is given, so whatever credit there is, all of it is what it may cost. */
function holdOf(model: TextModel, decision: ChatCompletionRequest): MicroUsd {
  const estimate = estimateChat(model, decision, zeroUsd)
  return 'needed' in estimate ? estimate.needed : estimate.hold
}

const address = /https?:\/\/[^\s<>"'`|\\^{}]+/giu

/** Each once, without the punctuation of the sentence that it stands in; what no fetch would take is none. */
function addressesIn(text: string): string[] {
  const found = (text.match(address) ?? []).map(withoutPunctuation)
  const isReadable = (each: string) => each.length <= addressCharacters && URL.canParse(each)
  return [...new Set(found)].filter(isReadable).slice(0, scrapedAddresses)
}

const punctuation = new Set('.,;:!?)]*_')

/** By steps from the end: a pattern that ends in `$` begins anew at every dot of a megabyte of dots. */
function withoutPunctuation(text: string): string {
  let end = text.length
  while (punctuation.has(text[end - 1] ?? '')) end--
  return text.slice(0, end)
}

const instruction = [
  'You decide whether a search of the web is needed before the newest message of this conversation can be answered well:',
  'for what is recent, for facts that you are not sure of, or where the user asks for one. Do not answer the message itself.',
  'Reply with one line: either NO, or SEARCH: followed by the words to search for.',
].join(' ')

/** Asks the model itself whether to search (`auto`: its discretion), and for what. */
function decisionRequest(model: TextModel, messages: readonly ChatMessage[]): ChatCompletionRequest {
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

/** The words to search for; null for an answer that asks for no search in the agreed form. */
export function decidedQuery(answer: string): string | null {
  const query = /^[^\w\n]*SEARCH:\s*(\S.*)$/m.exec(answer)?.[1]?.trim().slice(0, queryCharacters)
  return query || null
}

function newestText(messages: readonly ChatMessage[]): string {
  const newest = messages.findLast(({ role }) => role === 'user')
  return newest ? textOf(newest) : ''
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}

export function textOfChoice({ choices }: ChatCompletion): string {
  const content = choices[0]?.message.content
  return typeof content === 'string' ? content : ''
}
