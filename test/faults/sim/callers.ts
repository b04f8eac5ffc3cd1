import { Readable } from 'node:stream'
import { evmNetwork } from '#contract/wire/networks.ts'
import { writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import type { Seeded } from '../seeded.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SolanaWallet } from './solana-transfer.ts'

/** A caller: a customer with an API key, or a wallet that signs in for each call. */
export interface Caller {
  name: string
  account: string
  /** Its own network address. */
  address: string
  /** Null for a wallet. */
  secret: string | null
  /** Pays top-ups from here; its credit goes to the account. */
  wallet: string
  /** Pays from Solana; null where it does not. */
  solana: SolanaWallet | null
}

export interface Asked {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: unknown
  /** Where it differs from the caller's own. */
  address?: string
}

export const serviceUrl = 'http://127.0.0.1:8402'

/** The part of Node's own message that the service reads. */
class Incoming extends Readable {
  readonly socket: { remoteAddress: string }
  readonly headersDistinct: Record<string, string[]>
  readonly #body: Buffer | null

  constructor(headers: Record<string, string>, address: string, body: unknown) {
    super()
    this.socket = { remoteAddress: address }
    this.headersDistinct = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]),
    )
    this.#body = body === undefined ? null : Buffer.from(JSON.stringify(body))
  }

  override _read(): void {
    if (this.#body) this.push(this.#body)
    this.push(null)
  }
}

/** Sends one request, as a socket would bring it. */
export function ask(process: SimulatedProcess, asked: Asked, address: string, signal: AbortSignal): Promise<Response> {
  const { method, path, headers = {}, body } = asked
  const all = { 'content-type': 'application/json', ...headers }
  const request = new Request(`${serviceUrl}${path}`, { method, headers: all })
  // As the server's own requests have it. A signal that follows another one is lost when its request is collected.
  Object.defineProperty(request, 'signal', { value: signal })
  return process.request(request, { incoming: new Incoming(all, asked.address ?? address, body) })
}

/** Who signed which message, in the place of the curve's arithmetic. */
export class Signatures {
  readonly #signers = new Map<string, string>()
  readonly #draws: Seeded

  constructor(draws: Seeded) {
    this.#draws = draws
  }

  /** 65 bytes with a low `s`, as the service insists on. */
  sign(message: string, signer: string): string {
    const part = () =>
      this.#draws
        .below(2 ** 31)
        .toString(16)
        .padStart(8, '0')
    const signature = `0x${'0'.repeat(56)}${part()}${'0'.repeat(48)}${part()}${part()}1b`
    this.#signers.set(signature, `${signer} ${message}`)
    return signature
  }

  signerOf(message: string, signature: string): string | null {
    const [signer, ...signed] = (this.#signers.get(signature) ?? '').split(' ')
    return signer && signed.join(' ') === message ? signer : null
  }
}

/** The credentials of one call. A wallet signs a new message each time. */
export function credentialsOf(
  caller: Caller,
  signatures: Signatures,
  draws: Seeded,
  nowMs: number,
): Record<string, string> {
  if (caller.secret) return { authorization: `Bearer ${caller.secret}` }
  const domain = new URL(serviceUrl).host
  const issuedAt = new Date(nowMs).toISOString()
  const nonce = `${draws.below(2 ** 31)}`.padStart(12, '0')
  const fields = { domain, address: caller.wallet, uri: serviceUrl, version: '1', chainId: evmNetwork, nonce, issuedAt }
  const message = writeSignInMessage({ ...fields, version: '1' })
  const payload = { address: caller.wallet, message, signature: signatures.sign(message, caller.wallet) }
  return { 'sign-in-with-x': Buffer.from(JSON.stringify(payload)).toString('base64') }
}
