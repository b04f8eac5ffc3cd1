import { fieldError } from '#contract/errors/issues.ts'
import type { Exchange } from '../exchange.ts'

/**
 * Headers that say where a request goes and what it is. Sent twice, a proxy may go by one and this service by the other.
 * Credentials, payments and keys are looked at where they are read.
 */
const singleHeaders = ['host', 'content-type'] as const

/** Throws 400 where one of them came more than once. */
export function requireSingleHeaders(exchange: Pick<Exchange, 'header'>): void {
  const name = singleHeaders.find(each => exchange.header(each).length > 1)
  if (name === undefined) return
  const message = `${name} was sent more than once; send it once.`
  throw fieldError([name], message)
}
