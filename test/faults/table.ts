import { formatUsd } from '#contract/money.ts'
import type { CampaignReport } from './campaign.ts'
import { failuresAsLines, rowsAsLines } from './lines.ts'
import { loadKinds, sumOf } from './load-records.ts'

/** The results of a run, one per line; the last line is the verdict. */
export function table({
  kills,
  killedStarts,
  book,
  findings,
  restartsMs,
  quietAfterMs,
  recovered,
}: CampaignReport): string[] {
  const sorted = [...restartsMs].sort((one, other) => one - other)
  const jobs = [...book.jobs.values()]
  const rows: [string, string][] = [
    ['kills', `${kills}, and ${killedStarts} of a start`],
    ['acknowledged operations', `${book.total}`],
    ...loadKinds.map((kind): [string, string] => [`  ${kind}`, `${book.acknowledged[kind]}`]),
    ['signed payments', `${book.topUps.length}`],
    ['keys with a budget', `${book.budgetKeys.length}, which refused ${book.overBudget} calls`],
    ['wallets with a stake', `${book.stakers.length}, which paid ${formatUsd(stakingOf(book))} USD of calls`],
    ['videos', `${jobs.length}`],
    ['cut by a kill', cutByKills(book)],
    ['charges by recovery', shareOf(recovered)],
    ['restart to ready', `p50 ${sorted[Math.floor(sorted.length / 2)] ?? 0} ms, max ${sorted.at(-1) ?? 0} ms`],
    ['everything at rest after', quietAfterMs === null ? 'not waited for' : `${(quietAfterMs / 1000).toFixed(1)} s`],
    ['lost micro-USD', `${findings.lostMicroUsd}`],
    ['drift micro-USD', `${findings.driftMicroUsd}`],
    ['holds left', `${findings.holdsLeft}`],
  ]
  return [...rowsAsLines(rows), ...failuresAsLines(findings.failures), verdict(findings)]
}

const stakingOf = ({ staking }: CampaignReport['book']): bigint =>
  [...staking.values()].reduce((sum, each) => sum + each, 0n)

const shareOf = ([recovered, all]: CampaignReport['recovered']): string =>
  `${recovered} of ${all}, ${((100 * recovered) / Math.max(1, all)).toFixed(1)} %`

/** Requests that were under way: without an answer at all, and streams without their end. */
function cutByKills({ unanswered, open, acknowledged }: CampaignReport['book']): string {
  const streams = open.size - acknowledged['cut stream']
  return `${sumOf(unanswered) + streams}, of them ${unanswered['top-up'] + unanswered['solana top-up']} top-ups and ${unanswered['video queue']} videos`
}

function verdict({ lostMicroUsd, driftMicroUsd, holdsLeft, failures: all }: CampaignReport['findings']): string {
  const sums = `lost ${formatUsd(lostMicroUsd)} USD, drift ${formatUsd(driftMicroUsd)} USD, holds left ${holdsLeft}`
  return all.length ? `${sums}, failures ${all.length}` : sums
}
