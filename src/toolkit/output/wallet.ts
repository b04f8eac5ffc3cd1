import { z } from 'zod'
import { chainName } from '#contract/wire/networks.ts'
import type { SeenAmount, WalletView } from '../tool-context.ts'
import { usd } from '../values/amounts.ts'
import { untrustedId } from '../values/untrusted.ts'
import { Usd } from './paid.ts'

const Seen = z.object({ age_seconds: z.number().optional(), unknown_because: z.string().optional() })

/** The wallet as tools show it. */
export const WalletOutput = z.object({
  pays: z.enum(['wallet', 'apiKey', 'nothing']),
  service: z.string(),
  address: z.string().nullable(),
  network: z.string().nullable(),
  credit_usd: Usd,
  credit: Seen,
  on_chain: z.record(z.string(), Seen.extend({ address: z.string(), usdc: Usd })),
  caps_usd: z
    .object({
      per_payment: z.number(),
      per_call: z.number(),
      per_day: z.number(),
      total: z.number(),
      ask_above: z.number(),
    })
    .nullable(),
  /** The first payment of a wallet that was created in a conversation asks the user. */
  next_payment_asks: z.boolean(),
  spent_usd: z.object({ today: z.number(), total: z.number(), reserved: z.number() }).nullable(),
  /** When the credit falls below the first amount, the second is paid; null if refills are off. */
  refill_usd: z.object({ below: z.number(), by: z.number() }).nullable(),
  unresolved_payments: z.number(),
  payee: z.string().nullable(),
  next: z.string().nullable(),
})
export type WalletOutput = z.output<typeof WalletOutput>

const seen = ({ atMs, unknown }: Pick<SeenAmount, 'atMs' | 'unknown'>, nowMs: number) => ({
  ...(atMs !== null && { age_seconds: Math.max(0, Math.round((nowMs - atMs) / 1_000)) }),
  ...(unknown !== null && { unknown_because: unknown }),
})

export const walletOutput = (view: WalletView): WalletOutput => ({
  pays: view.pays,
  service: view.service,
  address: view.address,
  network: view.network && untrustedId(view.network),
  credit_usd: usd(view.creditMicroUsd),
  credit: seen(view.creditSeen, view.atMs),
  on_chain: Object.fromEntries(
    view.onChain.map(({ network, address, amountMicroUsd, ...when }) => [
      chainName(network),
      { address, usdc: usd(amountMicroUsd), ...seen(when, view.atMs) },
    ]),
  ),
  caps_usd: view.caps && {
    per_payment: Number(usd(view.caps.perPayment)),
    per_call: Number(usd(view.caps.perCall)),
    per_day: Number(usd(view.caps.perDay)),
    total: Number(usd(view.caps.total)),
    ask_above: Number(usd(view.caps.askAbove)),
  },
  next_payment_asks: view.asksNextPayment,
  spent_usd: view.spent && {
    today: Number(usd(view.spent.today)),
    total: Number(usd(view.spent.total)),
    reserved: Number(usd(view.spent.reserved)),
  },
  refill_usd: view.refill && { below: Number(usd(view.refill.below)), by: Number(usd(view.refill.by)) },
  unresolved_payments: view.unresolved,
  payee: view.payee && untrustedId(view.payee),
  next: view.next,
})
