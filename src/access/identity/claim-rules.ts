import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import type { SignInClaim, SignInCode } from '#contract/wire/sign-in.ts'
import { clockSkewMs, nonceCharacters, signInAgeMs, signInLifeMs, timestampToleranceMs } from './bounds.ts'

export interface ClaimRules {
  /** Hosts that a message may name; a request's own `Host` never counts. */
  domains: readonly string[]
  /** One header serves until it expires, so its own expiry counts instead of the age. */
  window: boolean
}

/** What is wrong with a message beside its signature, or null: all that costs no curve arithmetic. */
export function claimFault(claim: SignInClaim, rules: ClaimRules, nowMs: number): SignInCode | null {
  if (claim.chainId !== evmNetwork && claim.chainId !== solanaNetwork) return 'X402_SIGN_IN_UNSUPPORTED_CHAIN'
  if (!isOurs(claim.domain, rules) || !isOurs(claim.uri, rules)) return 'X402_SIGN_IN_DOMAIN_MISMATCH'
  if (claim.nonce === '' || claim.nonce.length > nonceCharacters) return 'X402_SIGN_IN_MISSING_NONCE'
  // Each is asked so that a time which is no number is refused.
  if (!(claim.issuedAtMs <= nowMs + clockSkewMs)) return 'X402_SIGN_IN_FUTURE_TIMESTAMP'
  if (claim.notBeforeMs !== null && !(claim.notBeforeMs <= nowMs + clockSkewMs)) return 'X402_SIGN_IN_NOT_BEFORE'
  if (!(nowMs <= lastUseMs(claim, rules))) return 'X402_SIGN_IN_EXPIRED'
  const { timestampMs } = claim
  if (timestampMs !== null && !(Math.abs(timestampMs - claim.issuedAtMs) <= timestampToleranceMs)) {
    return 'X402_SIGN_IN_TIMESTAMP_MISMATCH'
  }
  return null
}

/** The last moment of our clock at which a message may serve; its nonce is kept until then. */
export function lastUseMs({ issuedAtMs, expirationTimeMs }: SignInClaim, { window }: ClaimRules): number {
  const aged = issuedAtMs + signInAgeMs
  const ends = window
    ? Math.min(expirationTimeMs ?? aged, issuedAtMs + signInLifeMs)
    : Math.min(expirationTimeMs ?? aged, aged)
  return ends + clockSkewMs
}

/**
 * The host must be ours, and the port where one is named: two services of one machine differ by nothing else. A scheme
 * that is named must be the web's.
 */
function isOurs(text: string, { domains }: ClaimRules): boolean {
  const place = placeOf(text)
  if (place === null) return false
  return domains.some(domain => {
    const own = placeOf(domain)
    return own !== null && own.host === place.host && isSamePort(place.port, own.port)
  })
}

const defaultPorts: readonly (string | null)[] = ['80', '443']

const isSamePort = (named: string | null, own: string | null): boolean =>
  named === null || named === own || (own === null && defaultPorts.includes(named))

interface Place {
  host: string
  /** Null where none is named. */
  port: string | null
}

/** Host and port of a domain or of a web address; null for another scheme, and for anything with a user name or a space. */
export function placeOf(text: string): Place | null {
  const match = /^(?:https?:\/\/)?([^\s:/?#@[\]\\]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:[/?#][^\s\\]*)?$/i.exec(text)
  const [, host, port = null] = match ?? []
  return host === undefined ? null : { host: host.toLowerCase(), port }
}
