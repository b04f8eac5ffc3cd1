import type { Records } from '../records/records.ts'
import type { State } from '../records/state.ts'
import { decideCall, type PlannedCall } from '../rules/decide.ts'
import type { Policy } from '../rules/policy.ts'
import { recorded } from '../rules/refusals.ts'
import { isStopped } from '../rules/stop-switch.ts'
import { NeedsApproval } from '../terms/approval.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Approvals } from './approvals.ts'

export interface CallRules {
  policy: Policy
  state: Pick<State, 'folder'>
  records: Records
  approvals: Approvals
  /** Who would pay; null or absent with an API key. */
  wallet?: { address: string } | null
}

/**
 * One attempt at a call: `requestHash` ties an approval to exactly this request, and `by` names the attempt that uses
 * the approval up.
 */
export interface Attempt {
  requestHash: string
  by: string
  /** The call was sent before the user could deny it, and the caller wants its outcome. */
  wasSent?: boolean
}

/**
 * Returns if the call may be made at its price; applies to API keys as well as wallets. The call uses up its approval;
 * if it buys nothing, `approvals.giveBack(by)` makes the approval valid again. Throws `WalletRefusal` or
 * `NeedsApproval`.
 */
export async function allowCall(
  { policy, state, records, approvals, wallet }: CallRules,
  call: PlannedCall,
  { requestHash, by, wasSent = false }: Attempt,
): Promise<void> {
  const decision = decideCall(policy, { isStopped: await records.read(() => isStopped(state.folder)) }, call)
  const { operation = null, about } = call
  const decided = { origin: policy.origin, operation, address: wallet?.address ?? null, about }
  if (decision.kind === 'refused')
    return recorded(records, decided, { requestHash }, () => Promise.reject(new WalletRefusal(decision.refusal)))
  if (!wasSent) await approvals.refuseDenied(requestHash, decided)
  if (decision.kind === 'allowed' || (await approvals.use(decision.facts, requestHash, by))) return
  throw new NeedsApproval(await approvals.ask(decision.facts, requestHash, decided))
}
