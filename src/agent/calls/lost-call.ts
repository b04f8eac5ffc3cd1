import { displayUsd, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { ShownCharge } from './shown-charge.ts'

/** What can be told of a call that was sent and whose answer did not come. */
export class LostCall extends ToolFailure {
  /** Nothing that is asked later can tell more. */
  readonly isFinal: boolean

  constructor(facts: ToolFailure['facts'], isFinal: boolean) {
    super(facts)
    this.isFinal = isFinal
  }
}

/** The service gives no answer by a key; `shownAtMs` is from when its records count as whole. */
export function wasLost(shown: ShownCharge, shownAtMs: number): LostCall {
  const isOpen = shown.kind === 'none'
  return new LostCall(
    {
      happened: `The same call was sent a moment ago and its answer was lost on the way; ${saidOf(shown)}.`,
      charged: 'unknown',
      ...(isOpen ? { retryAtMs: shownAtMs } : {}),
      next: isOpen
        ? 'The same call asks the person then whether to buy it anew, if there is still none; `again: true` buys it at once.'
        : 'Look at wallet_status; `again: true` buys it anew.',
    },
    !isOpen,
  )
}

/** Of a call whose answer alone is wanted: it is not bought anew by itself. */
export const showsNoCharge = (): LostCall =>
  new LostCall(
    {
      happened: 'Its answer was lost on the way, and the records of the service show no charge for it.',
      charged: 'unknown',
      next: 'The same call asks the person whether to buy it anew, because the service may still charge for it.',
    },
    true,
  )

export const wasNeverSent = (): LostCall =>
  new LostCall(
    {
      happened: 'The process that was to make this call ended before it was sent.',
      charged: zeroUsd,
      next: 'The same call buys it now.',
    },
    true,
  )

/** Its row says so, and the process that heard why has ended. */
export const wasNotDone = (): LostCall =>
  new LostCall(
    { happened: 'The service did not do it.', charged: zeroUsd, next: 'The same call tries it anew and says why.' },
    true,
  )

/** Too old to be asked for. */
export const wasForgotten = (): LostCall =>
  new LostCall(
    {
      happened: 'Its answer did not come within a day, and what was asked is not kept any longer.',
      charged: 'unknown',
      next: 'Look at wallet_receipts.',
    },
    true,
  )

export const isAnothersCall = (): ToolFailure =>
  new ToolFailure({
    happened: 'This job was bought with another wallet or API key than the configured one.',
    charged: zeroUsd,
    next: 'Let the person start this server with that one.',
  })

export const stillRunning = (): ToolFailure =>
  new ToolFailure({
    happened: 'The same call is under way in another process.',
    charged: zeroUsd,
    next: 'Make the same call again in a moment: it returns that one. `again: true` buys another.',
  })

function saidOf(shown: ShownCharge): string {
  if (shown.kind === 'unknown') return 'nothing here can tell whether it was charged'
  if (shown.kind === 'none') return 'the records of the service show no charge yet'
  return `the records of the service show ${amountOf(shown.amountMicroUsd)} since`
}

const amountOf = (amount: MicroUsd | null): string =>
  amount === null ? 'a charge' : `a charge of ${displayUsd(amount)}`
