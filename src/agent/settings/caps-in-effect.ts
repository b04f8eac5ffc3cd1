import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MicroUsd } from '#contract/money.ts'
import { settingsFileName, tightenByFile } from '#wallet/rules/settings-file.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import { type AgentEnvironment, policyOf } from './wallet-settings.ts'

export interface CapInEffect {
  /** What it bounds, before its amount: `per payment`. */
  of: string
  amountMicroUsd: MicroUsd
  /** The variable or the file that sets it; null for the default. */
  saidBy: string | null
}

/** Each cap in force with where it comes from, and what keeps the wallet from paying. Throws the wallet's refusal. */
export function capsInEffect(env: AgentEnvironment, folder: string) {
  const given = policyOf(env)
  const policy = tightenByFile(given, folder)
  const caps: CapInEffect[] = names.map(([member, variable, of]) => ({
    of,
    amountMicroUsd: policy[member],
    saidBy: policy[member] < given[member] ? settingsFileName : env[variable]?.trim() ? variable : null,
  }))
  return { caps, isDryRun: policy.dryRun, hasStopFile: existsSync(join(folder, stopFileName)) }
}

const names = [
  ['maxPaymentMicroUsd', 'FAREBOX_MAX_PAYMENT_USD', 'per payment'],
  ['maxDayMicroUsd', 'FAREBOX_MAX_DAY_USD', 'in 24 hours'],
  ['maxTotalMicroUsd', 'FAREBOX_MAX_TOTAL_USD', 'in total'],
  ['maxCallMicroUsd', 'FAREBOX_MAX_CALL_USD', 'per call'],
  ['askAboveMicroUsd', 'FAREBOX_ASK_ABOVE_USD', 'ask above'],
] as const
