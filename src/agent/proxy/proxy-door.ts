import { isLoopback } from '#contract/wire/network-address.ts'
import { isSameSecret } from '#host/same-secret.ts'

export interface DoorRequest {
  headers: Headers
  /** The port that the proxy listens on. */
  port: number
}

/** Why a request is not let in: it spends money, so it has to come from a program on this machine that knows the token. */
export interface TurnedAway {
  status: 401 | 403
  code: string
  message: string
}

/**
 * Null for a request that may pass. A page in a browser can reach loopback under any name that its owner's DNS gives it,
 * so the name has to be a loopback one, and a page's `Origin` is never taken.
 */
export function turnedAway({ headers, port }: DoorRequest, token: string): TurnedAway | null {
  const host = headers.get('host') ?? ''
  const asked = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null
  if (!asked || !isLoopback(asked.hostname) || Number(asked.port || 80) !== port) return wrongHost
  if (headers.has('origin')) return fromPage
  const given = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  return isSameSecret(given, token) ? null : wrongToken
}

const wrongHost: TurnedAway = {
  status: 403,
  code: 'wrong_host',
  message: 'This proxy answers to 127.0.0.1 and localhost alone. Use the address that `farebox proxy` printed.',
}

const fromPage: TurnedAway = {
  status: 403,
  code: 'from_a_page',
  message: 'This proxy serves programs, and no page of a browser. Let a program of yours make the call.',
}

const wrongToken: TurnedAway = {
  status: 401,
  code: 'wrong_token',
  message: 'Send the token that `farebox proxy` printed as `Authorization: Bearer TOKEN`.',
}
