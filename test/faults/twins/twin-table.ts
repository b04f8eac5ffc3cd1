import { formatUsd } from '#contract/money.ts'
import { findingsPrinted } from './bounds.ts'
import type { BehaviourRow, TwinReport } from './twin-run.ts'

const columns = ['requests', 'at once', 'pending', 'cut', 'settle calls', 'transfers', 'credits', 'seconds'] as const
const behaviourWidth = 58

export const heading = `${''.padEnd(behaviourWidth)}${columns.map(column => column.padStart(13)).join('')}`

export function line(row: BehaviourRow): string {
  const { requests, creditedAtOnce, pending, cut, settlements, transfers, credits, ms } = row
  const cells = [requests, creditedAtOnce, pending, cut, settlements, transfers, credits, (ms / 1000).toFixed(1)]
  return `${row.behaviour.padEnd(behaviourWidth)}${cells.map(cell => `${cell}`.padStart(13)).join('')}`
}

export function verdict({ creditsMicroUsd, transfersMicroUsd, findings }: TwinReport): string[] {
  const shown = findings.slice(0, findingsPrinted).map(finding => `✗ ${finding}`)
  const more = findings.length > shown.length ? [`✗ and ${findings.length - shown.length} more`] : []
  const sums = `credited ${formatUsd(creditsMicroUsd)} USD, received ${formatUsd(transfersMicroUsd)} USD`
  return [...shown, ...more, findings.length ? `${sums}, failures ${findings.length}` : sums]
}
