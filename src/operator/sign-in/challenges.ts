import { randomBytes } from 'node:crypto'
import { type Clock, minuteMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import type { Marks } from './marks.ts'
import { markOf, type ServiceSecrets } from './sealed.ts'

/** What a passkey signs is asked for, signed and sent within this. */
export const challengeMs = 5 * minuteMs
const randomPartBytes = 16

/**
 * Challenges that a passkey signs. The service gives one out without writing anything: it is its own signature over a
 * time, a random number and the browser that asked. Only using one is written, as a hash, so that it works once.
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

  /** For one purpose of one browser, which is named by a secret of its session or cookie. */
  give(purpose: string, browser: string): string {
    const asked = `${this.#clock.now() + challengeMs}.${randomBytes(randomPartBytes).toString('base64url')}`
    return Buffer.from(`${asked}.${this.#signature(asked, purpose, browser, this.#secrets[0])}`).toString('base64url')
  }

  /** Uses it up, whatever comes of it; false if it was not given to this browser for this, is too old or was used. */
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
