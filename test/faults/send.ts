import { fromUsdNumber } from '#contract/money.ts'
import { requestMs } from './bounds.ts'
import type { LoadKind } from './load-records.ts'
import type { Round } from './round.ts'

export interface Sending {
  kind: LoadKind
  path: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal
}

/** The answer, or null where none came: the server was killed, or the connection broke. */
export async function send(round: Round, sending: Sending): Promise<Response | null> {
  const timeout = AbortSignal.timeout(requestMs)
  try {
    return await fetch(`${round.baseUrl}${sending.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...sending.headers },
      ...(sending.body === undefined ? {} : { body: JSON.stringify(sending.body) }),
      signal: sending.signal ? AbortSignal.any([timeout, sending.signal]) : timeout,
    })
  } catch (error) {
    if (!wasSent(error)) return null
    round.book.unanswered[sending.kind]++
    if (!round.mayBreak())
      round.book.surprise(sending.kind, `no answer from ${sending.path} while the server was alive: ${reasonOf(error)}`)
    return null
  }
}

/** What the connection, or our patience, said. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  return code ? `${message} (${code})` : message
}

/** Nothing listens at that port any more, so nothing can have happened. */
const wasSent = (error: unknown): boolean =>
  !(error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED')

/** An error says what is wrong in a member of that name, whatever is behind it. */
function isClear(body: string): boolean {
  try {
    return 'error' in (JSON.parse(body) as object)
  } catch {
    return false
  }
}

export const requestIdOf = (response: Response): string => response.headers.get('cf-ray') ?? 'no id'

/** Ledger an error, which is unexpected unless its status is one of these. The whole body, or null where it broke. */
export async function refused(
  round: Round,
  kind: LoadKind,
  response: Response,
  expected: readonly number[] = [],
): Promise<string | null> {
  const body = await textOf(response)
  if (round.mayFail() && response.status >= 429) {
    round.book.open.add(requestIdOf(response))
    if (response.status >= 500) round.book.storeErrors++
    if (body !== null && !isClear(body)) round.book.surprise(kind, `${response.status} ${body}`)
    return body
  }
  round.book.refused.set(requestIdOf(response), response.status)
  if (!expected.includes(response.status)) round.book.surprise(kind, `${response.status} ${body}`)
  return body
}

/** Null where the connection broke before the end. */
export async function textOf(response: Response): Promise<string | null> {
  try {
    return await response.text()
  } catch {
    return null
  }
}

/** `cost.usd` of an answer, as the integer that it stands for; null where there is none. */
export function costOf(answer: { cost?: { usd?: unknown } }): bigint | null {
  return typeof answer.cost?.usd === 'number' ? fromUsdNumber(answer.cost.usd) : null
}
