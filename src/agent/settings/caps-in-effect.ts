import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MicroUsd } from '#contract/money.ts'
import { settingsFileName, tightenByFile } from '#wallet/rules/settings-file.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import { type AgentEnvironment, policyOf } from './wallet-settings.ts'

export interface CapInEffect {
  /** What it bounds, as in `At most for …`. */
  of: string
  amountMicroUsd: MicroUsd
  /** The variable or the file that says it; null where nobody does. */
  saidBy: string | null
}

/** Each cap as it holds, and by whose word; and what keeps the wallet from paying at all. Throws the wallet's refusal. */
export function capsInEffect(env: AgentEnvironment, folder: string) {
  const given = policyOf(env)
  const policy = tightenByFile(given, folder)
  const caps: CapInEffect[] = names.map(([member, variable, of]) => ({
    of,
    amountMicroUsd: policy[member],
    saidBy: policy[member] < given[member] ? settingsFileName : env[variable]?.trim() ? variable : null,
  }))
  return { caps, isDryRun: policy.dryRun, isStopped: existsSync(join(folder, stopFileName)) }
}

const names = [
  ['maxPaymentMicroUsd', 'FAREBOX_MAX_PAYMENT_USD', 'a payment'],
  ['maxDayMicroUsd', 'FAREBOX_MAX_DAY_USD', 'all payments of 24 hours'],
  ['maxTotalMicroUsd', 'FAREBOX_MAX_TOTAL_USD', 'all payments ever'],
  ['maxCallMicroUsd', 'FAREBOX_MAX_CALL_USD', 'a call'],
  ['askAboveMicroUsd', 'FAREBOX_ASK_ABOVE_USD', 'what nobody is asked about'],
] as const
