import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { Marks } from '#access/identity/marks.ts'
import { type Clock, dayMs, minuteMs } from '#contract/time.ts'
import { hashOfSecret, newPageSecret } from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import type { Counted } from './tries.ts'

/** The service's secrets: the first one encrypts, and former ones are accepted while a secret is being replaced. */
export type ServiceSecrets = readonly [string, ...string[]]

const keyBytes = 32
/** The size that GCM requires. Random values are safe because a key encrypts few texts. */
const ivBytes = 12
const tagBytes = 16

const keyOf = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(secret), '', `farebox console ${purpose}`, keyBytes))

/** Encrypts a text for this service only (AES-256-GCM), bound to its owner. */
export function seal(text: string, owner: string, [secret]: ServiceSecrets): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, 'seal'), iv).setAAD(Buffer.from(owner))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Null if the text was encrypted with another secret or for another owner, or was changed. */
export function unseal(sealed: string, owner: string, secrets: ServiceSecrets): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  for (const secret of secrets) {
    try {
      const opened = createDecipheriv('aes-256-gcm', keyOf(secret, 'seal'), bytes.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      return Buffer.concat([opened.update(bytes.subarray(ivBytes + tagBytes)), opened.final()]).toString('utf8')
    } catch {
      // A former secret may have encrypted it.
    }
  }
  return null
}

/** A keyed hash of a text, in base64url. */
const markOf = (text: string, secret: string, purpose: string): string =>
  createHmac('sha256', keyOf(secret, purpose)).update(text).digest('base64url')

/** Within this time, a passkey must sign a challenge and the signature must arrive. */
export const challengeMs = 5 * minuteMs
const randomPartBytes = 16

/**
 * Challenges for passkeys. Issuing one writes nothing: it is the service's signature over a time, a random number and
 * the browser that asked. Only its use is written, as a hash, so that it works once.
 */
export class Challenges {
  readonly #marks: Marks
  readonly #clock: Clock
  readonly #secrets: ServiceSecrets

  constructor({ marks, clock, secrets }: { marks: Marks; clock: Clock; secrets: ServiceSecrets }) {
    this.#marks = marks
    this.#clock = clock
    this.#secrets = secrets
  }

  /** For one purpose in one browser, identified by a secret of its session or cookie. */
  give(purpose: string, browser: string): string {
    const asked = `${this.#clock.now() + challengeMs}.${randomBytes(randomPartBytes).toString('base64url')}`
    return Buffer.from(`${asked}.${this.#signature(asked, purpose, browser, this.#secrets[0])}`).toString('base64url')
  }

  /**
   * Uses the challenge, whatever the outcome. False if it was issued to another browser or for another purpose, is too
   * old, or was used.
   */
  async spend(challenge: string, purpose: string, browser: string): Promise<boolean> {
    const [until = '', random = '', signature = ''] = Buffer.from(challenge, 'base64url').toString('utf8').split('.')
    const untilMs = Number(until)
    const asked = `${until}.${random}`
    const isOurs = this.#secrets.some(secret =>
      isSameSecret(signature, this.#signature(asked, purpose, browser, secret)),
    )
    if (!isOurs || !(untilMs > this.#clock.now())) return false
    return this.#marks.write({ key: `console-challenge:${hashOfSecret(asked)}`, expiresAtMs: untilMs })
  }

  #signature(asked: string, purpose: string, browser: string, secret: string): string {
    return markOf(`${asked}.${purpose}.${hashOfSecret(browser)}`, secret, 'challenge')
  }
}

/** How long a browser is remembered after its last sign-in. */
export const deviceMs = 90 * dayMs

interface Device {
  id: string
  /** Who signed in there last. */
  operator: string
}

/** Where a try comes from. */
interface TriedFrom {
  /** The cookie of a known browser; empty if there is none. */
  device: string
  /** The network address. */
  address: string
}

/**
 * Browsers in which an operator has signed in. Their wrong tries are counted apart, so that a guesser elsewhere cannot
 * delay the operator there. Such a browser keeps the service's signature over a random id, a time and the operator in a
 * cookie; nothing is stored. The cookie alone signs no one in: a stolen one gives as many tries as another address.
 */
export class Devices {
  readonly #clock: Clock
  readonly #secrets: ServiceSecrets

  constructor({ clock, secrets }: { clock: Clock; secrets: ServiceSecrets }) {
    this.#clock = clock
    this.#secrets = secrets
  }

  /** The cookie of a browser in which this operator has just signed in. A browser that they used before keeps its count. */
  remember(operator: string, cookie: string): string {
    const known = this.#known(cookie)
    const id = known?.operator === operator ? known.id : newPageSecret()
    const text = `${id}.${this.#clock.now() + deviceMs}.${Buffer.from(operator).toString('base64url')}`
    return `${text}.${markOf(text, this.#secrets[0], 'device')}`
  }

  /** How to count a passkey, whose operator is not known before it has signed. */
  countedHere({ device, address }: TriedFrom): Counted {
    const known = this.#known(device)
    return { of: known ? `device ${known.id}` : `address ${address}` }
  }

  /**
   * How to count a password and a code: by the browser if this operator has signed in there, otherwise by the network
   * address and, in total, by the account.
   */
  countedFor(operator: string, from: TriedFrom): readonly Counted[] {
    if (this.#known(from.device)?.operator === operator) return [this.countedHere(from)]
    return [{ of: `address ${from.address}` }, { of: `password ${operator}`, isTotal: true }]
  }

  #known(cookie: string): Device | null {
    const [id = '', until = '', name = '', signature = ''] = cookie.split('.')
    const text = `${id}.${until}.${name}`
    const isOurs = this.#secrets.some(secret => isSameSecret(signature, markOf(text, secret, 'device')))
    if (!isOurs || !(Number(until) > this.#clock.now())) return null
    return { id, operator: Buffer.from(name, 'base64url').toString('utf8') }
  }
}
