import { z } from 'zod'
import { paidFailures, StandardError } from '../errors/failures.ts'
import { answerListOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** Web search, and a page as Markdown (published contract §15). */

/** Price of one search, and of one page that could be read, in micro-USD, both here and in a chat. */
export const augmentMicroUsd = 10_000

/** Price of one result of a model's own search of the web and X, and the most results that a chat pays for. */
export const xSearchMicroUsd = 10_000
export const xSearchResults = 20

/** Number of results per search. */
const searchResults = { most: 20, default: 10 } as const

export const WebSearchRequest = z
  .looseObject({
    query: z.string().min(1).max(400),
    limit: z.number().int().min(1).max(searchResults.most).default(searchResults.default),
    search_provider: z.enum(['google', 'brave']).optional(),
  })
  .meta({ id: 'WebSearchRequest' })
export type WebSearchRequest = z.output<typeof WebSearchRequest>

export const WebSearchResults = z
  .strictObject({
    query: z.string(),
    results: answerListOf(
      z.strictObject({
        title: z.string(),
        url: z.string(),
        content: z.string(),
        /** As reported by the search engine; empty if unknown. */
        date: z.string(),
      }),
    ),
  })
  .meta({ id: 'WebSearchResults' })
export type WebSearchResults = z.output<typeof WebSearchResults>

export const WebScrapeRequest = z.looseObject({ url: z.string().min(1).max(8_192) }).meta({ id: 'WebScrapeRequest' })
export type WebScrapeRequest = z.output<typeof WebScrapeRequest>

export const WebPage = z
  .strictObject({ url: z.string(), content: z.string(), format: z.literal('markdown') })
  .meta({ id: 'WebPage' })
export type WebPage = z.output<typeof WebPage>

const failures = { ...paidFailures, 415: StandardError, 504: StandardError }

export const webSearch = defineOperation({
  id: 'webSearch',
  method: 'POST',
  path: '/augment/search',
  tag: 'Augment',
  summary: 'Search the web',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'augment',
  request: { body: WebSearchRequest },
  answer: { json: WebSearchResults },
  failures,
})

export const webScrape = defineOperation({
  id: 'webScrape',
  method: 'POST',
  path: '/augment/scrape',
  tag: 'Augment',
  summary: 'Read a web page as Markdown',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'augment',
  request: { body: WebScrapeRequest },
  answer: { json: WebPage },
  failures,
})
