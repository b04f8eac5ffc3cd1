import { carefulPerson, type Door, doors, knock } from './doors.ts'
import { type Played, playAt } from './play-at.ts'
import { type RailName, rails } from './rails.ts'
import { type Row, rulesOf } from './row.ts'
import type { Reply } from './rule-of.ts'
import { categoryOf, idOf, type Severity } from './scenario.ts'
import type { TopUpAttack, TopUpCategory } from './top-up-attacks.ts'

export interface TopUpRun extends TopUpAttack {
  id: string
  category: string
  severity: Severity
  rail: RailName
  door: Door
}

export const runsOf = (categories: readonly TopUpCategory[], through: readonly Door[] = doors): TopUpRun[] =>
  categories.flatMap(({ stem, severity, variants }) =>
    variants.flatMap((variant, index) =>
      Object.values(rails).flatMap(rail => {
        const attack = variant(rail)
        const named = { id: idOf(stem, index), category: categoryOf(stem), severity, rail: rail.name }
        return attack ? through.map(door => ({ ...named, ...attack, door })) : []
      }),
    ),
  )

/** Two visits and two retries, unless a fixture has its own. */
const tries = 4

/** Knocks at one door as often as the fixture says. */
const playRun = (run: TopUpRun): Promise<Played> =>
  playAt({ ...run, ...(run.door === 'wallet_top_up' ? { onApproval: carefulPerson() } : {}) }, async scene => {
    const replies: Reply[] = []
    for (let tried = 0; tried < (run.tries ?? tries); tried++) {
      replies.push(await knock[run.door](scene.hired, scene.hosts.baseUrl))
      scene.clock.advance((run.minutesBetween ?? 0) * 60_000)
    }
    return replies
  })

/** Rules about an offer hold at every door; what comes after a payment is met where calls top up by themselves. */
const offerRules: ReadonlySet<string> = new Set([
  ...['network', 'asset', 'authorization-lifetime', 'price-bait', 'unreadable-offer', 'redirect'],
])

export async function runTopUp(run: TopUpRun, part: 'top-up' | 'paper' | 'own' = 'top-up'): Promise<Row> {
  const { id, category, severity, rail, door } = run
  const { replies, found } = await playRun(run)
  const rules = rulesOf(replies)
  const expected = expectedRule(run)
  const missing = expected !== null && !rules.includes(expected) ? [`refused by ${expected}`] : []
  const isPaid = found.payments.length > 0
  return {
    ...{ part, id, category, severity, rail, door, rules, missing },
    outcome: found.violations.length > 0 ? 'WRONG' : missing.length > 0 ? 'FAILED' : isPaid ? 'authorized' : 'refused',
    signedUsd: found.signedUsd,
    lostUsd: found.lostUsd,
    violations: found.violations,
  }
}

const expectedRule = ({ rule, door }: TopUpRun): string | null =>
  rule !== null && door === 'wallet_top_up' && !offerRules.has(rule) ? null : rule
