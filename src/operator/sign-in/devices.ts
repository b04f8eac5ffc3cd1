import { type Clock, dayMs } from '#contract/time.ts'
import { newPageSecret } from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { markOf, type ServiceSecrets } from './sealed.ts'
import type { Counted } from './tries.ts'

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
