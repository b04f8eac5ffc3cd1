import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseJson } from '#contract/wire/json.ts'
import { web3TokenBytes, web3TokenLifeMs } from './bounds.ts'

/** Why a token is not taken, in the published words. */
export type TokenFault = 'JWT has expired' | 'JWT signature is invalid' | 'JWT claims are invalid' | 'JWT is malformed'

export interface Web3Claims {
  /** Base URL of the service that made it. */
  iss: string
  aud: string
  /** Unix seconds. */
  iat: number
  exp: number
  /** Used once. */
  jti: string
}

const audience = 'farebox web3 key'
const header = { alg: 'HS256', typ: 'JWT' }
const jsonDepth = 4

/**
 * JSON Web Tokens (RFC 7519, HS256) that wallets sign. The key is made of the server's secret for this alone, so nothing
 * else that is signed with the secret can stand for one; those of former secrets are read until they end.
 */
export class Web3Tokens {
  readonly #issuer: string
  readonly #keys: readonly [Buffer, ...Buffer[]]

  constructor(options: { issuer: string; secrets: readonly [string, ...string[]] }) {
    this.#issuer = options.issuer
    const [current, ...former] = options.secrets
    this.#keys = [tokenKey(current), ...former.map(tokenKey)]
  }

  make(nowMs: number): string {
    const iat = Math.floor(nowMs / 1000)
    const claims: Web3Claims = {
      iss: this.#issuer,
      aud: audience,
      iat,
      exp: iat + web3TokenLifeMs / 1000,
      jti: randomBytes(web3TokenBytes).toString('base64url'),
    }
    const signed = `${encoded(header)}.${encoded(claims)}`
    return `${signed}.${mac(this.#keys[0], signed).toString('base64url')}`
  }

  read(token: string, nowMs: number): { ok: true; claims: Web3Claims } | { ok: false; fault: TokenFault } {
    const fault = (why: TokenFault) => ({ ok: false as const, fault: why })
    const [head = '', body = '', signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token)?.slice(1) ?? []
    const [told, claims] = [decoded(head), decoded(body)]
    if (!told || !claims) return fault('JWT is malformed')
    const given = Buffer.from(signature, 'base64url')
    const isOurs = this.#keys.some(key => isSame(mac(key, `${head}.${body}`), given))
    if (told.alg !== header.alg || !isOurs) return fault('JWT signature is invalid')
    if (!isClaims(claims) || claims.iss !== this.#issuer || claims.aud !== audience)
      return fault('JWT claims are invalid')
    return claims.exp * 1000 > nowMs ? { ok: true, claims } : fault('JWT has expired')
  }
}

const tokenKey = (secret: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', 'farebox web3 key token', 32))

const mac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const isSame = (left: Buffer, right: Buffer): boolean => left.length === right.length && timingSafeEqual(left, right)

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function decoded(part: string): Record<string, unknown> | null {
  const parsed = parseJson(Buffer.from(part, 'base64url').toString(), jsonDepth)
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)
    ? (parsed.value as Record<string, unknown>)
    : null
}

const isClaims = (claims: Record<string, unknown>): claims is Record<string, unknown> & Web3Claims =>
  typeof claims.jti === 'string' && typeof claims.exp === 'number' && Number.isSafeInteger(claims.exp)
