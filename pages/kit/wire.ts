/** What every page with a script and its server have in common. Nothing is imported, so that a page needs no types of Node. */

export const apiPath = '/api/'

/** Spends the one-time link: takes `{ token }`, answers a `Session`. */
export const sessionPath = '/api/session'

/** The header with the secret that the page keeps to itself; the cookie alone opens nothing. */
export const pageKeyHeader = 'farebox-page-key'

export interface Session {
  key: string
}

/** Why a request was refused: what is wrong, and what to do. */
export interface Refused {
  happened: string
  next: string
  /** What would make it succeed: a recent proof of who asks. */
  needs?: 'proof'
}
