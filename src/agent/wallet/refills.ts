import type { Client } from '#client/client.ts'
import type { TopUpClient } from '#client/top-up.ts'
import { type AnswerHeaders, answerHeaders } from '#client/wire/read-answer.ts'
import type { WireResponse } from '#client/wire/wire.ts'
import type { Clock } from '#contract/time.ts'
import { isoTime } from '#toolkit/values/amounts.ts'
import type { SeenCredit } from '#wallet/terms/order.ts'
import type { Wallet } from '#wallet/wallet.ts'
import type { RefillStatus } from '#wallet/wallet-status.ts'

interface Noticed extends Pick<SeenCredit, 'balanceMicroUsd' | 'beforeCallMicroUsd'> {
  sentAtMs: number
}

/** As the headers of an answer say it. */
type ToldCredit = Pick<AnswerHeaders, 'balanceRemaining' | 'balanceBefore'>

interface RefillParts {
  client: Client
  topUps: TopUpClient
  wallet: Wallet | null
  clock: Clock
}

/**
 * Hands on what answers to paid calls tell of the credit, so that the wallet may refill it ahead of need. It goes on beside
 * the call and fails none; one at a time, of the last answer.
 */
export class Refills {
  readonly #parts: RefillParts
  #last: Noticed | null = null
  #running: Promise<void> | null = null

  constructor(parts: RefillParts) {
    this.#parts = parts
  }

  /** `sentAtMs` is when the request was sent, by the agent's clock. */
  noticed({ balanceRemaining, balanceBefore }: ToldCredit, sentAtMs: number): void {
    const balanceMicroUsd = balanceRemaining ?? balanceBefore
    if (!this.#parts.wallet?.policy.refill || balanceMicroUsd === null) return
    this.#last = { balanceMicroUsd, beforeCallMicroUsd: balanceBefore, sentAtMs }
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  /** The same of an answer that nobody has read. While a stream runs, what is left is less what is held for it. */
  noticedIn({ status, headers }: Pick<WireResponse, 'status' | 'headers'>, sentAtMs: number): void {
    if (status < 200 || status >= 300) return
    const { balanceBefore, balanceRemaining } = answerHeaders(headers, this.#parts.clock.now())
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
    this.noticed({ balanceRemaining: isStream ? null : balanceRemaining, balanceBefore }, sentAtMs)
  }

  /** Ends when no refill is in flight any more. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { wallet, topUps, clock } = this.#parts
    for (let next = this.#take(); wallet && next; next = this.#take()) {
      const { sentAtMs, ...told } = next
      const seen = { ...told, agoMs: () => Math.max(0, clock.now() - sentAtMs) }
      // Where even the note of a failure cannot be written, the next answer finds the journal again.
      await wallet.refill(seen, () => topUps.offer(), topUps.send).catch(() => undefined)
    }
  }

  #take(): Noticed | null {
    const last = this.#last
    this.#last = null
    return last
  }
}

/** What stands against refilling credit ahead of need; null where nothing does. Calls are paid after a 402 meanwhile. */
export function sayRefill({ isHalted, note, againAtMs }: RefillStatus): string | null {
  if (isHalted)
    return `Refills have stopped. ${note ?? ''} The user should check what the service charges, and can then run \`farebox wallet start\` to resume them.`
  if (note === null) return null
  const again = againAtMs === null ? '' : ` The next refill is possible after ${isoTime(againAtMs)}.`
  return `The last refill failed: ${note}${again}`
}
