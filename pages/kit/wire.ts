/** What every page with a script shares with its server. It imports nothing, so that a page needs no types of Node. */

export const apiPath = '/api/'

/** Uses the one-time link: takes `{ token }` and returns a `Session`. */
export const sessionPath = '/api/session'

/** The header with the secret that only the page knows; the cookie alone is not enough. */
export const pageKeyHeader = 'farebox-page-key'

export interface Session {
  key: string
}

/** Why a request was refused: what is wrong and what to do. */
export interface Refused {
  happened: string
  next: string
  /** What would make the request succeed: a recent proof of identity. */
  needs?: 'proof'
}

/** A path of one by one squares, for an SVG with a view box of `size`. */
export interface QrCode {
  uri: string
  size: number
  path: string
}

/** One page of a list; pass `next` as `after` to get the next one. */
export interface ListPage<Row> {
  rows: Row[]
  /** The number of rows on all pages; null if counting takes too long. */
  total: number | null
  next: string | null
}
