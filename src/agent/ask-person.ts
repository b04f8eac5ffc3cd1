import { NeedsPerson, type Question } from '#toolkit/person.ts'
import { giveBackApproval } from '#wallet/approvals.ts'
import { decideCall, type PlannedCall } from '#wallet/decide.ts'
import { walletMigrations } from '#wallet/migrations.ts'
import { type ApprovalQuestion, NeedsApproval } from '#wallet/needs-approval.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import { isStopped } from '#wallet/stop-file.ts'
import type { Core } from './core.ts'

/** A question of the wallet as the tools ask it. */
export function personFor({ facts, ...asked }: ApprovalQuestion): NeedsPerson {
  return new NeedsPerson({ ...phrased(facts), ...asked } as Question)
}

/** Sentences of the wallet stand inside a sentence there. */
function phrased(facts: ApprovalQuestion['facts']): ApprovalQuestion['facts'] {
  if (facts.kind !== 'spend') return facts
  const because = facts.because.replace(/\.$/, '')
  return {
    ...facts,
    what: facts.what.replace(/\.$/, ''),
    because: because.charAt(0).toLowerCase() + because.slice(1),
  }
}

/**
 * Returns where a call may be made at its price; a person's approval is used up by the attempt `by`, until `giveBack`.
 * Throws otherwise.
 */
export function allowCall(core: Core, call: PlannedCall, { hash, by }: { hash: string; by: string }): void {
  const { approvals, policy, state } = core
  const decision = decideCall(
    policy,
    { isStopped: isStopped(state.folder), isApproved: facts => approvals.use(facts, hash, by) },
    call,
  )
  if (decision.kind === 'refused') throw new WalletRefusal(decision.refusal)
  if (decision.kind === 'asks') throw new NeedsApproval(approvals.ask(decision.facts, hash))
}

/** This attempt bought nothing, so the yes that it used still stands; what another one used up stays used. */
export function giveBack({ state }: Core, by: string): void {
  state.prepare('wallet', walletMigrations)
  state.decide(db => giveBackApproval(db, by))
}
