import type { Approvals } from './approvals.ts'
import { decideCall, type PlannedCall } from './decide.ts'
import { NeedsApproval } from './needs-approval.ts'
import type { Policy } from './policy.ts'
import type { Records } from './records.ts'
import { WalletRefusal } from './refusal.ts'
import type { State } from './state.ts'
import { isStopped } from './stop-switch.ts'

export interface CallRules {
  policy: Policy
  state: Pick<State, 'folder'>
  records: Records
  approvals: Approvals
}

/** One try to make a call: `requestHash` binds an approval to the very request, `by` names the try that uses it up. */
export interface Attempt {
  requestHash: string
  by: string
}

/**
 * Returns where a call may be made at its price, which holds for API keys as for wallets. An approval is used up by it;
 * an attempt that bought nothing gives it back with `approvals.giveBack(by)`. Throws `WalletRefusal` or `NeedsApproval`.
 */
export async function allowCall(
  { policy, state, records, approvals }: CallRules,
  call: PlannedCall,
  { requestHash, by }: Attempt,
): Promise<void> {
  const decision = decideCall(policy, { isStopped: await records.read(() => isStopped(state.folder)) }, call)
  if (decision.kind === 'refused') throw new WalletRefusal(decision.refusal)
  if (decision.kind === 'allowed' || (await approvals.use(decision.facts, requestHash, by))) return
  throw new NeedsApproval(await approvals.ask(decision.facts, requestHash))
}
