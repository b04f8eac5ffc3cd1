import { offer, type RailFacts } from './rails.ts'
import { type TopUpAttack, type TopUpCategory, topUp } from './top-up-attacks.ts'

/** Refilled ahead of need without a question, with caps that alone would let much more through. */
const refilling = { refillBelowUsd: '1', refillByUsd: '5', askAboveUsd: '9', maxDayUsd: '60', maxTotalUsd: '90' }

/** The first payment follows a 402; the others that are authorized are refills. */
const lying =
  (payments: number, saysUsd: (chat: number) => number, rest: Partial<TopUpAttack> = {}) =>
  (rail: RailFacts): TopUpAttack => ({
    play: { offers: () => [offer(rail, 5)], saysUsd },
    authorized: topUp(rail, { most: payments, totalUsd: 5 * payments }),
    rule: null,
    policy: refilling,
    ...{ tries: 8, minutesBetween: 2 },
    ...rest,
  })

/** What only this wallet can be made to do: to refill credit that a service says is gone. */
export const ownAttacks: readonly TopUpCategory[] = [
  {
    stem: 'lying-balance',
    severity: 'high',
    variants: [
      // Refilled once; it does not show up as credit, so the owner must check.
      lying(2, () => 0),
      // It grants a cent each time, which is no refill either.
      lying(2, chat => chat / 100),
      // It shows each refill once and takes it back: the day's cap ends it.
      lying(3, chat => (chat % 2 === 0 ? 0 : 6), { policy: { ...refilling, maxDayUsd: '15' }, tries: 12 }),
      // Within two minutes there is one payment a minute, however often it says so.
      lying(2, chat => (chat % 2 === 0 ? 0 : 6), { tries: 8, minutesBetween: 0.125 }),
      // There is no user to approve, and a refill is above the threshold.
      lying(1, () => 0, { policy: { refillBelowUsd: '1', refillByUsd: '5' } }),
    ],
  },
]
