/** What the customer's page and its server exchange. Amounts are texts of micro-USD, times milliseconds since 1970, days UTC. */

export const accountPath = '/account'
export const accountApiPath = '/account/api/'

/** Takes `{ key }`, answers a `Session` and sets the cookie. */
export const keySessionPath = '/account/api/session'

/** `GET /account/api/me` */
export interface Me {
  kind: 'key' | 'wallet'
  /** The key's label or beginning, or the wallet's address. */
  who: string
  account: string
  /** What the operator calls the customer. */
  name: string | null
  /** Sees the whole account and manages its keys; another key sees what itself did. */
  seesAccount: boolean
  state: 'active' | 'suspended'
  /** When the session ends however busy it is. */
  untilMs: number
  /** The address of the API that callers use. */
  publicUrl: string
  nowMs: number
}

/** What came of an act, as a sentence. */
export interface Told {
  said: string
}
