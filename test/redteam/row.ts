import type { RailName } from './rails.ts'
import type { Reply } from './rule-of.ts'
import type { Severity } from './scenario.ts'
import type { Violation } from './score.ts'

/** What one run came to. */
export interface Row {
  /** Which of the lists below it belongs to. */
  part: 'corpus' | 'top-up' | 'facilitator' | 'paper' | 'own' | 'control' | 'corpus-control'
  id: string
  category: string
  severity: Severity
  rail: RailName
  door: string
  outcome: 'refused' | 'authorized' | 'WRONG' | 'FAILED' | 'not supported'
  /** Rules that refused, those that come up first before the others. */
  rules: readonly string[]
  /** All that was signed and left, each distinct payment once. */
  signedUsd: number
  lostUsd: number
  violations: readonly Violation[]
  /** What a control or a hostile facilitator should have come to, and did not. */
  missing: readonly string[]
}

/** What refused, without what was delivered in between. */
export const rulesOf = (replies: readonly Reply[]): string[] => [
  ...new Set(replies.map(({ rule }) => rule).filter(rule => rule !== 'delivered' && !rule.startsWith('status-'))),
]
