import { randomBytes } from 'node:crypto'
import type { Marks } from '#access/identity/marks.ts'
import { type Clock, minuteMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { markOf, type ServiceSecrets } from './sealed.ts'

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
