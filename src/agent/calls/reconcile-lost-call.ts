import { chargeShownMs, keysKeptMs } from '../bounds.ts'
import type { Core } from '../core.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import { showsNoCharge, wasLost } from './lost-call.ts'
import type { PaidCallRow } from './paid-call-rows.ts'
import { payingAccount } from './paying-account.ts'
import { shownCharge } from './shown-charge.ts'
import type { Standing } from './standing.ts'

/**
 * What can be known of a call whose answer was lost. Where the service keeps answers by their keys, a request that went
 * with one is sent again with it, from the same account; otherwise a person decides, once the service's records have had
 * time to show a charge. Throws where they do, and before.
 */
export async function reconcileLostCall(
  core: Core,
  models: ModelRecords,
  row: PaidCallRow,
  standing: Standing,
): Promise<void> {
  const account = await payingAccount(core)
  const nowMs = core.clock.now()
  const isKept = row.isKeyed && nowMs < row.createdAtMs + keysKeptMs
  if (isKept && row.account === account && (await models.takesKeys())) {
    standing.consents = row.consents
    standing.allowedMicroUsd = row.allowedMicroUsd
    return
  }
  const shown = await shownCharge(core, row.account ?? account, row.createdAtMs)
  const shownAtMs = row.updatedAtMs + chargeShownMs
  if (shown.kind !== 'none' || nowMs < shownAtMs) throw wasLost(shown, shownAtMs)
  if (standing.isOnlyAsked) throw showsNoCharge()
  // A service may work on for longer, and charge when it is done.
  standing.mayBeSecond = true
}
