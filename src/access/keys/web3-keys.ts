import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { invalidRequest } from '#contract/errors/errors.ts'
import type { CreateWeb3KeyRequest } from '#contract/operations/keys.ts'
import { type Clock, minuteMs } from '#contract/time.ts'
import { parseJson } from '#contract/wire/json.ts'
import { isEvmSignature } from '#host/signatures/evm-signature.ts'
import { openWalletAccount, type WalletAccounts, walletAccountId } from '#ledger/accounts/customers.ts'
import type { WalletPrincipal } from '#ledger/accounts/principal.ts'
import type { Funding } from '#ledger/charges/funding.ts'
import type { Op } from '#ledger/store/units.ts'
import { type ApiKeys, type CreatedKey, KeyRefused } from './api-keys.ts'
import { keyOrder, tooManyKeys } from './key-order.ts'

interface Web3KeysOptions {
  clock: Clock
  keys: Pick<ApiKeys, 'create' | 'requireSecret'>
  accounts: Pick<WalletAccounts, 'find'>
  funding: Pick<Funding, 'stakingToday'>
  tokens: Web3Tokens
  /** Returns the address, in lower case, that signed a text by EIP-191, or null. */
  signerOf(message: string, signature: string): Promise<string | null>
}

/** Creates an API key for a wallet's account in return for its signature of our single-use token. */
export class Web3Keys {
  readonly #options: Web3KeysOptions

  constructor(options: Web3KeysOptions) {
    this.#options = options
  }

  token(): string {
    return this.#options.tokens.make(this.#options.clock.now())
  }

  /** Throws 400 with one of the published sentences. */
  async create(request: CreateWeb3KeyRequest): Promise<CreatedKey> {
    const { clock, tokens, keys } = this.#options
    if (!/^0x[0-9a-f]{40}$/i.test(request.address)) throw refused('Invalid wallet address')
    const wallet = request.address.toLowerCase()
    const read = tokens.read(request.token, clock.now())
    if (!read.ok) throw refused(read.fault)
    await this.#requireSigned(request, wallet)
    const { account, opening } = await this.#accountOf(wallet)
    const order = keyOrder(account, request, clock.now())
    const once: Op = { op: 'nonce', key: `web3:${read.claims.jti}`, expiresAtMs: read.claims.exp * 1000 }
    await keys.requireSecret()
    try {
      return await keys.create({ ...order, opening: [once, ...opening] })
    } catch (error) {
      if (error instanceof KeyRefused && error.why === 'nonce_used')
        throw refused('The token was already used; get a new one with GET /api_keys/generate_web3_key')
      throw tooManyKeys(error) ?? error
    }
  }

  async #requireSigned({ token, signature }: CreateWeb3KeyRequest, wallet: string): Promise<void> {
    if (!isEvmSignature(signature)) throw refused('Could not verify wallet signature')
    const signer = await this.#options.signerOf(token, signature)
    if (signer === null) throw refused('Could not verify wallet signature')
    if (signer !== wallet) throw refused('Wallet signature does not match')
  }

  /**
   * A wallet that never paid has an account only if its stake gives it credit, because wallets cost nothing to create.
   */
  async #accountOf(wallet: string): Promise<{ account: string; opening: Op[] }> {
    const { accounts, funding, clock } = this.#options
    const known = await accounts.find(wallet)
    if (known !== null) return { account: known, opening: [] }
    const account = walletAccountId(wallet)
    const principal: WalletPrincipal = { kind: 'wallet', account, wallet, plan: 'default', isNew: true }
    if ((await funding.stakingToday(principal)) ?? 0n)
      return { account, opening: openWalletAccount(wallet, clock.now()) }
    throw refused('Wallet has no staked tokens and no credit: buy credit with POST /x402/top-up first')
  }
}

const refused = (error: string) => invalidRequest({ error })

/** Why a token is refused, in the published wording. */
type TokenFault = 'JWT has expired' | 'JWT signature is invalid' | 'JWT claims are invalid' | 'JWT is malformed'

interface Web3Claims {
  /** Base URL of the service that issued it. */
  iss: string
  aud: string
  /** Unix seconds. */
  iat: number
  exp: number
  /** Works once. */
  jti: string
}

const audience = 'farebox web3 key'
const header = { alg: 'HS256', typ: 'JWT' }
const jsonDepth = 4

/**
 * JSON Web Tokens (RFC 7519, HS256) that wallets sign. Their key is derived from the server's secret for this purpose
 * only, so nothing else that is signed with that secret can pass for one. Tokens of former secrets are accepted until
 * they expire.
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
    const [givenHeader, claims] = [decoded(head), decoded(body)]
    if (!givenHeader || !claims) return fault('JWT is malformed')
    const given = Buffer.from(signature, 'base64url')
    const isOurs = this.#keys.some(key => isSame(mac(key, `${head}.${body}`), given))
    if (givenHeader.alg !== header.alg || !isOurs) return fault('JWT signature is invalid')
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

/** How long a token for a new key is valid (published contract §11.3). */
const web3TokenLifeMs = 15 * minuteMs

/** Random bytes of a token for a new key, so that it is unique and cannot be guessed. */
const web3TokenBytes = 16
