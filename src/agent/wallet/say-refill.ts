import { isoTime } from '#toolkit/values/amounts.ts'
import type { RefillStatus } from '#wallet/wallet-status.ts'

/** What stands against refilling credit ahead of need; null where nothing does. Calls are paid after a 402 meanwhile. */
export function sayRefill({ isHalted, note, againAtMs }: RefillStatus): string | null {
  if (isHalted)
    return `Credit is not refilled ahead of need any more. ${note ?? ''} The person should look at what the service charges, and can run \`farebox wallet start\` to go on.`
  if (note === null) return null
  const again = againAtMs === null ? '' : ` The next refill is thought of after ${isoTime(againAtMs)}.`
  return `Credit was not refilled ahead of need: ${note}${again}`
}
