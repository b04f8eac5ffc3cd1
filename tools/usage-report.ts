import { z } from 'zod'
import { addUsd, fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { getBillingUsageAnalytics, type UsageAnalytics } from '#contract/operations/billing.ts'
import { dayMs } from '#contract/time.ts'
import { reportDays, reportedCharges } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { Usd } from '#toolkit/output/paid.ts'
import type { ChargeReceipt } from '#toolkit/tool-context.ts'
import { isoTime, sayUsd, usd } from '#toolkit/values/amounts.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'

const row = { name: z.string(), usd: Usd }

export default defineTool({
  name: 'usage_report',
  set: 'wallet',
  isDefault: false,
  title: 'Report what was spent',
  description:
    'Adds up charges by day and by model. For individual payments and charges, use wallet_receipts. An API key must be an ADMIN key. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    days: z
      .number()
      .int()
      .min(1)
      .max(reportDays.maximum)
      .default(reportDays.default)
      .describe('Counted back from today.'),
  }),
  app: 'spending',
  sentAs: { lookback: 'days' },
  output: z.object({
    days: z.number(),
    total_usd: Usd,
    /**
     * For an account, according to the service; or for this wallet, according to its own receipts from this service.
     */
    source: z.enum(['service', 'receipts']),
    /**
     * Charges of unknown amount, which no sum includes; null for an account, because the service reports everything.
     */
    unknown_charges: z.number().nullable(),
    /** Only the newest charges are read, so older ones of these days are in no sum. */
    is_partial: z.boolean(),
    by_day: z.array(z.object(row)),
    by_model: z.array(z.object(row)),
  }),

  async run(context, { days }) {
    const { pays } = await context.wallet.status()
    if (pays === 'apiKey') {
      const query = { lookback: `${days}d` }
      const { answer } = await context.call(getBillingUsageAnalytics, { params: undefined, query, body: undefined })
      return { days, source: 'service' as const, unknown_charges: null, is_partial: false, ...ofAccount(answer) }
    }
    const charges = await context.wallet.charges(reportedCharges, { isOfAllServices: false })
    const counted = charges.filter(({ atMs }) => atMs > context.now() - days * dayMs)
    return {
      days,
      source: 'receipts' as const,
      unknown_charges: counted.filter(({ amountMicroUsd }) => amountMicroUsd === null).length,
      is_partial: counted.length >= reportedCharges,
      ...ofWallet(counted),
    }
  },

  say({ days, total_usd, source, unknown_charges, is_partial, by_day, by_model }) {
    const rows = (title: string, named: { name: string; usd: number | null }[]) =>
      named.length === 0 ? [] : [title, ...named.map(each => `${each.name}: ${sayUsd(each.usd)}`)]
    const whose = source === 'service' ? 'The account' : 'This wallet'
    return [
      `${whose} was charged ${sayUsd(total_usd)} in ${days} days.`,
      ...(unknown_charges ? [`The amounts of ${unknown_charges} more charges are unknown and not in these sums.`] : []),
      ...(is_partial ? [`Only the newest ${reportedCharges} charges are counted: request fewer days.`] : []),
      ...rows('By day:', by_day),
      ...rows('By model:', by_model),
    ].join('\n')
  },
})

const ofAccount = ({ byDate, byModel }: UsageAnalytics) =>
  report(
    byDate.map(({ date, USD }) => [date, fromUsdNumber(USD) ?? zeroUsd]),
    byModel.map(({ modelName, totalUsd }) => [modelName, fromUsdNumber(totalUsd) ?? zeroUsd]),
  )

/** A refund counts against the day on which it was made. */
function ofWallet(charges: readonly ChargeReceipt[]) {
  const counted = charges.map(({ kind, amountMicroUsd, atMs, model }) => {
    const amount = amountMicroUsd ?? zeroUsd
    return {
      day: isoTime(atMs).slice(0, 10),
      model: model ?? 'unknown',
      amount: kind === 'refund' ? addUsd(-amount) : amount,
    }
  })
  return report(
    counted.map(({ day, amount }) => [day, amount]),
    counted.map(({ model, amount }) => [model, amount]),
  )
}

type Named = (readonly [name: string, amount: MicroUsd])[]

function report(days: Named, models: Named) {
  const byDay = summed(days)
  return {
    total_usd: usd(addUsd(...byDay.values())),
    by_day: [...byDay].toSorted(([one], [other]) => (one < other ? 1 : -1)).map(shown),
    by_model: [...summed(models)].toSorted(([, one], [, other]) => Number(other - one)).map(shown),
  }
}

function summed(named: Named): Map<string, MicroUsd> {
  const sums = new Map<string, MicroUsd>()
  for (const [name, amount] of named) {
    const id = untrustedId(name)
    sums.set(id, addUsd(sums.get(id) ?? zeroUsd, amount))
  }
  return sums
}

const shown = ([name, amount]: readonly [string, MicroUsd]) => ({ name, usd: usd(amount) })
