import { strangeId } from './from-outside.ts'
import { isoTime, sayUsd, usd } from './say-amount.ts'
import type { ChargeReceipt } from './tool-context.ts'

/** Parts of a bill that are shown; ours have three at most. */
const shownLines = 20

const stateWords: Readonly<Record<ChargeReceipt['state'], string>> = {
  unsigned: 'without a receipt',
  unchecked: 'receipt not checked yet',
  verified: 'receipt verified',
  differs: 'receipt differs',
  unverified: 'receipt not to be trusted',
}

/** A charge or a refund of a service as tools show it: a line, because members of their own would lengthen every listing of tools. */
export function sayCharge({ atMs, kind, amountMicroUsd, what, model, usage, state, problem }: ChargeReceipt): string {
  const used = usage.slice(0, shownLines).map(({ sku, units }) => `${strangeId(units)} ${strangeId(sku)}`)
  const bought = what ?? (model === null ? 'a call' : strangeId(model))
  return [
    `${isoTime(atMs)}: ${kind === 'refund' ? 'refund of ' : ''}${sayUsd(usd(amountMicroUsd))} for ${bought}`,
    ...(used.length > 0 ? [`used ${used.join(', ')}`] : []),
    problem ?? stateWords[state],
  ].join('; ')
}
