import { z } from 'zod'
import { topUpUsd } from '#contract/limits.ts'
import { networkName } from '#contract/wire/networks.ts'
import { defineTool } from '#toolkit/define.ts'
import { WalletOutput, walletOutput } from '#toolkit/output/wallet.ts'
import { sayUsd } from '#toolkit/values/amounts.ts'

export default defineTool({
  name: 'wallet_status',
  set: 'wallet',
  title: 'Wallet and credit',
  description:
    'Shows who pays, the credit, the balances, the caps and what was spent. Use it for questions about money or when a payment fails. For requests per minute, use limits. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({}),
  app: 'spending',
  output: WalletOutput,

  run: async context => walletOutput(await context.wallet.status()),

  say(status) {
    const lines = [payer(status.pays, status.service, status.address, status.network)]
    lines.push(
      sayAmount('Credit at the service', status.credit_usd === null ? null : sayUsd(status.credit_usd), status.credit),
    )
    for (const [chain, held] of Object.entries(status.on_chain))
      lines.push(
        sayAmount(`Balance of ${held.address} on ${chain}`, held.usdc === null ? null : `${sayUsd(held.usdc)}C`, held),
      )
    const { caps_usd: caps, spent_usd: spent } = status
    if (caps && spent) {
      lines.push(
        `${spent.reserved > 0 ? 'Paid or reserved' : 'Paid'} today ${sayUsd(spent.today)} of ${sayUsd(caps.per_day)}, in total ${sayUsd(spent.total)} of ${sayUsd(caps.total)}.${spent.reserved > 0 ? ` Of the total, ${sayUsd(spent.reserved)} is only reserved: it may not have been paid.` : ''}`,
        `A payment is at most ${sayUsd(caps.per_payment)}, a call at most ${sayUsd(caps.per_call)}. A call or a requested top-up above ${sayUsd(caps.ask_above)} needs the user’s approval.`,
        status.next_payment_asks ? `So does the first payment. After that, if ${withoutAsking}` : `If ${withoutAsking}`,
      )
    }
    if (status.refill_usd)
      lines.push(
        `When the credit is below ${sayUsd(status.refill_usd.below)}, the wallet refills it by ${sayUsd(status.refill_usd.by)}.`,
      )
    if (status.unresolved_payments > 0) {
      lines.push(`Payments with an unknown outcome, counted as spent: ${status.unresolved_payments}.`)
    }
    if (status.payee) lines.push(`It pays ${status.payee}.`)
    if (status.next) lines.push(status.next)
    return lines.join('\n')
  },
})

/** After a 402: the least that services sell. */
const withoutAsking = `a call needs credit, the wallet buys ${sayUsd(topUpUsd.minimum)} without asking, or more if the call costs more, within the caps.`

interface Seen {
  age_seconds?: number | undefined
  unknown_because?: string | undefined
}

function sayAmount(what: string, amount: string | null, seen: Seen): string {
  if (amount === null) return `${what}: unknown${seen.unknown_because ? `, because ${seen.unknown_because}` : ''}.`
  return `${what}: ${amount}${seen.age_seconds ? `, ${seen.age_seconds} s ago` : ''}.`
}

function payer(pays: 'wallet' | 'apiKey' | 'nothing', service: string, address: string | null, network: string | null) {
  if (pays === 'wallet')
    return `The wallet ${address ?? ''} on ${network ? networkName(network) : 'an unknown network'} pays for ${service}.`
  if (pays === 'apiKey') return `An API key pays for ${service}; farebox cannot buy credit for it.`
  return `There is no wallet or API key for ${service} yet, so only models_find, estimate, job_list, wallet_status and wallet_receipts work.`
}
