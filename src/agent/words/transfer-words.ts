import { displayUsd } from '#contract/money.ts'
import { chainName } from '#contract/wire/networks.ts'
import type { Transfer } from '#wallet/records/transfer-rows.ts'

/** The user types the end of the address, so that they read it before they accept it. */
export const lastCharacters = 6

/** The amount, the recipient and the network, without the outcome. */
export const transferLine = ({ id, amountMicroUsd, payTo, network, transaction }: Transfer): string =>
  `${displayUsd(amountMicroUsd)} to ${payTo} on ${chainName(network)}, ${transaction === null ? id : `transaction ${transaction}`}`

/** How a transfer to the owner ended; `next` is null if nothing is left to do. */
export function transferEnd(transfer: Transfer): { happened: string; next: string | null } {
  const { id, state, reason, validBeforeMs } = transfer
  if (state === 'confirmed') return { happened: `Sent: ${transferLine(transfer)}`, next: null }
  if (state === 'dead')
    return {
      happened: `The transfer ${id} was not settled in time, and no longer can be.`,
      next: 'Nothing was moved. Send it again.',
    }
  const until = validBeforeMs === null ? '' : ` It can still be settled until ${new Date(validBeforeMs).toISOString()}.`
  return {
    happened: `The chain does not have the transfer ${id} yet (${reason ?? 'no answer'}).${until}`,
    next: 'Send the same amount to the same address again: it repeats the same signed transfer, never a second one. `farebox wallet status` shows how it ended.',
  }
}
