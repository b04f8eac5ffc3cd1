import { z } from 'zod'
import { defineTool } from '#toolkit/define-tool.ts'
import { sayUsd, Usd, usd } from '#toolkit/paid.ts'

export default defineTool({
  name: 'wallet_status',
  title: 'Wallet and credit',
  description: 'Who pays, the credit, the caps and what was spent. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({}),
  output: z.object({
    pays: z.enum(['wallet', 'apiKey', 'nothing']),
    service: z.string(),
    address: z.string().nullable(),
    network: z.string().nullable(),
    credit_usd: Usd,
    caps_usd: z
      .object({
        per_payment: z.number(),
        per_call: z.number(),
        per_day: z.number(),
        total: z.number(),
        ask_above: z.number(),
      })
      .nullable(),
    spent_usd: z.object({ today: z.number(), total: z.number() }).nullable(),
    unresolved_payments: z.number(),
    payee: z.string().nullable(),
    next: z.string().nullable(),
  }),

  async run(context) {
    const view = await context.wallet.status()
    return {
      pays: view.pays,
      service: view.service,
      address: view.address,
      network: view.network,
      credit_usd: usd(view.creditMicroUsd),
      caps_usd: view.caps && {
        per_payment: Number(usd(view.caps.perPayment)),
        per_call: Number(usd(view.caps.perCall)),
        per_day: Number(usd(view.caps.perDay)),
        total: Number(usd(view.caps.total)),
        ask_above: Number(usd(view.caps.askAbove)),
      },
      spent_usd: view.spent && { today: Number(usd(view.spent.today)), total: Number(usd(view.spent.total)) },
      unresolved_payments: view.unresolved,
      payee: view.payee,
      next: view.next,
    }
  },

  say(status) {
    const lines = [payer(status.pays, status.service, status.address, status.network)]
    if (status.credit_usd !== null) lines.push(`Credit: ${sayUsd(status.credit_usd)}.`)
    const { caps_usd: caps, spent_usd: spent } = status
    if (caps && spent) {
      lines.push(
        `Paid today ${sayUsd(spent.today)} of ${sayUsd(caps.per_day)}, in total ${sayUsd(spent.total)} of ${sayUsd(caps.total)}.`,
        `A payment is at most ${sayUsd(caps.per_payment)}, a call at most ${sayUsd(caps.per_call)}; above ${sayUsd(caps.ask_above)} a person is asked.`,
      )
    }
    if (status.unresolved_payments > 0) {
      lines.push(`Payments of unknown outcome, counted as spent: ${status.unresolved_payments}.`)
    }
    if (status.next) lines.push(status.next)
    return lines.join('\n')
  },
})

function payer(pays: 'wallet' | 'apiKey' | 'nothing', service: string, address: string | null, network: string | null) {
  if (pays === 'wallet') return `The wallet ${address ?? ''} on ${network ?? 'an unknown network'} pays for ${service}.`
  if (pays === 'apiKey') return `An API key pays for ${service}; it is never topped up from here.`
  return `Nothing pays for ${service} yet, so only models_find, job_list, wallet_status and wallet_receipts work.`
}
