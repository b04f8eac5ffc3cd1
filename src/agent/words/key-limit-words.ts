import { KeyLimitReached } from '#contract/errors/failures.ts'

/**
 * A key that has reached its own limit: what is left of which budget, and when it starts anew, where the service says it.
 * Its numbers are told and none of its words.
 */
export function keyLimitWords(kind: string, body: unknown): readonly [string, string] | null {
  const currency = currencies.get(kind)
  if (currency === undefined) return null
  const budget = KeyLimitReached.safeParse(body).data?.budget
  return [
    `What is left of the ${currency} budget of this API key is too little for this call.${budget ? ` ${saidOf(budget)}` : ''}`,
    'Let the owner of the key raise its budget, or give another key; credit alone does not help.',
  ]
}

const currencies: ReadonlyMap<string, string> = new Map([
  ['API_KEY_USD_SPEND_LIMIT_EXCEEDED', 'USD'],
  ['API_KEY_DIEM_SPEND_LIMIT_EXCEEDED', 'staking'],
])

const periods = { epoch: 'for a day of UTC', month: 'for a month of UTC', lifetime: 'for all of its life' } as const

function saidOf({ currency, period, limit, left, startsAnewAt }: NonNullable<KeyLimitReached['budget']>): string {
  const unit = currency === 'USD' ? ' USD' : ''
  const startMs = startsAnewAt === null ? Number.NaN : Date.parse(startsAnewAt)
  const start = Number.isNaN(startMs)
    ? 'it does not start anew'
    : `it starts anew at ${new Date(startMs).toISOString()}`
  return `Of ${limit}${unit} ${periods[period]} ${left}${unit} ${left === 1 ? 'is' : 'are'} left; ${start}.`
}
