import type { Client } from '#client/client.ts'
import type { TopUpClient } from '#client/top-up.ts'
import { type AnswerHeaders, answerHeaders } from '#client/wire/read-answer.ts'
import type { WireResponse } from '#client/wire/wire.ts'
import { lowered } from '#contract/errors/as-clause.ts'
import type { Clock } from '#contract/time.ts'
import { isoTime } from '#toolkit/values/amounts.ts'
import type { SeenCredit } from '#wallet/terms/order.ts'
import type { Wallet } from '#wallet/wallet.ts'
import type { RefillStatus } from '#wallet/wallet-status.ts'

interface Noticed extends Pick<SeenCredit, 'balanceMicroUsd' | 'beforeCallMicroUsd'> {
  sentAtMs: number
}

/** The credit that an answer's headers report. */
type ReportedCredit = Pick<AnswerHeaders, 'balanceRemaining' | 'balanceBefore'>

interface RefillParts {
  client: Client
  topUps: TopUpClient
  wallet: Wallet | null
  clock: Clock
}

/**
 * Passes on the credit that answers to paid calls report, so that the wallet can refill it before it runs out. A refill
 * runs beside the call and never makes it fail; one at a time, for the latest answer.
 */
export class Refills {
  readonly #parts: RefillParts
  #last: Noticed | null = null
  #running: Promise<void> | null = null

  constructor(parts: RefillParts) {
    this.#parts = parts
  }

  /** `sentAtMs` is when the request was sent, by the agent's clock. */
  noticed({ balanceRemaining, balanceBefore }: ReportedCredit, sentAtMs: number): void {
    const balanceMicroUsd = balanceRemaining ?? balanceBefore
    if (!this.#parts.wallet?.policy.refill || balanceMicroUsd === null) return
    this.#last = { balanceMicroUsd, beforeCallMicroUsd: balanceBefore, sentAtMs }
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  /** Reads the credit from headers alone. While a stream runs, the remaining credit in them excludes its hold. */
  noticedIn({ status, headers }: Pick<WireResponse, 'status' | 'headers'>, sentAtMs: number): void {
    if (status < 200 || status >= 300) return
    const { balanceBefore, balanceRemaining } = answerHeaders(headers, this.#parts.clock.now())
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
    this.noticed({ balanceRemaining: isStream ? null : balanceRemaining, balanceBefore }, sentAtMs)
  }

  /** Resolves when no refill is in flight any more. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { wallet, topUps, clock } = this.#parts
    for (let next = this.#take(); wallet && next; next = this.#take()) {
      const { sentAtMs, ...credit } = next
      const seen = { ...credit, agoMs: () => Math.max(0, clock.now() - sentAtMs) }
      // If even the failure cannot be recorded, the next answer checks the journal again.
      await wallet.refill(seen, () => topUps.offer(), topUps.send).catch(() => undefined)
    }
  }

  #take(): Noticed | null {
    const last = this.#last
    this.#last = null
    return last
  }
}

/** Explains what prevents refilling; null if nothing does. Meanwhile calls are paid after a 402. */
export function sayRefill({ isHalted, note, againAtMs }: RefillStatus): string | null {
  if (isHalted)
    return `Refills have stopped. ${note ?? ''} The user should check what the service charges, and can then run \`farebox wallet start\` to resume them.`
  if (note === null) return null
  const again = againAtMs === null ? '' : ` The next refill is possible after ${isoTime(againAtMs)}.`
  return `The last refill failed: ${lowered(note)}${again}`
}
