import { z } from 'zod'
import { FetchHosts, HttpUrl, Milliseconds } from './config-values.ts'

/** Where searches of the web go, and what reads its pages. Either is refused to callers where it is absent. */

const isOpen = (text: string): boolean => {
  const url = URL.parse(text)
  return !url?.username && !url?.password
}

export const SearchConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('searxng'),
    /** Its settings have to list `json` under `search.formats`. */
    baseUrl: HttpUrl.refine(isOpen, 'Must have no user and no password in it'),
    language: z
      .string()
      .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'a language such as en or pt-BR')
      .optional(),
    timeoutMs: Milliseconds.optional(),
  }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type SearchConfig = z.output<typeof SearchConfig>

export const PagesConfig = z.discriminatedUnion('engine', [
  z.strictObject({
    engine: z.literal('web'),
    /** Instead of those of the whole service. */
    fetchHosts: FetchHosts.optional(),
    convertMs: Milliseconds.optional(),
  }),
  z.strictObject({ engine: z.literal('demo') }),
])
export type PagesConfig = z.output<typeof PagesConfig>
