import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { displayUsd, formatUsd, type MicroUsd } from '#contract/money.ts'
import { smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { readUsdCap } from '#wallet/rules/policy.ts'
import { narrowFile, settingsFileName, tightenByFile } from '#wallet/rules/settings-file.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { type AgentEnvironment, policyOf } from './wallet-settings.ts'

export interface CapInEffect {
  /** The cap's name in `policy.json`. */
  name: CapName
  /** The words before the amount, such as `per payment`. */
  of: string
  amountMicroUsd: MicroUsd
  /** The variable of the environment for it. */
  variable: string
  /** The variable or file that sets it; null for the default. */
  saidBy: string | null
}

/** Returns each cap in effect with its source, and what keeps the wallet from paying. Throws the wallet's refusal. */
export function capsInEffect(env: AgentEnvironment, folder: string) {
  const given = policyOf(env)
  const policy = tightenByFile(given, folder)
  const caps: CapInEffect[] = names.map(([name, member, variable, of]) => ({
    name,
    of,
    amountMicroUsd: policy[member],
    variable,
    saidBy: policy[member] < given[member] ? settingsFileName : env[variable]?.trim() ? variable : null,
  }))
  return { caps, isDryRun: policy.dryRun, hasStopFile: existsSync(join(folder, stopFileName)) }
}

/** Writes a lower cap into `policy.json`. Refuses a cap above the current one, because the file cannot raise a cap. */
export function lowerCap(env: AgentEnvironment, folder: string, name: string, usd: string): CapInEffect {
  const cap = capsInEffect(env, folder).caps.find(each => each.name === name)
  if (!cap)
    throw refusal(
      `There is no cap ${JSON.stringify(name.slice(0, 40))}`,
      `Use ${names.map(each => each[0]).join(', ')}`,
    )
  const amount = readUsdCap(`The cap "${cap.of}"`, usd)
  if (amount > cap.amountMicroUsd)
    throw refusal(
      `${displayUsd(amount)} is more than the cap "${cap.of}", which is ${displayUsd(cap.amountMicroUsd)}. This page can only lower it`,
      howToRaise(cap, folder),
    )
  narrowFile(folder, { [cap.name]: formatUsd(amount) })
  return { ...cap, amountMicroUsd: amount, saidBy: amount < cap.amountMicroUsd ? settingsFileName : cap.saidBy }
}

/** Returns where a cap is set, for a user who can edit it there. */
export const howToRaise = ({ name, variable, saidBy }: CapInEffect, folder: string): string =>
  saidBy === settingsFileName
    ? `To raise it, edit or remove "${name}" in ${join(folder, settingsFileName)}`
    : `To raise it, set ${variable} where farebox is started`

/** What the threshold for approval does not cover; shown wherever that threshold is. */
export const topUpWithoutAsking = `if a call needs credit, the wallet buys ${displayUsd(smallestTopUpMicroUsd)} without asking, or more if the call costs more, within the caps`

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'settings', sentence: `${sentence}.`, nextStep: `${nextStep}.` })

type CapName = (typeof names)[number][0]

const names = [
  ['maxPaymentUsd', 'maxPaymentMicroUsd', 'FAREBOX_MAX_PAYMENT_USD', 'per payment'],
  ['maxDayUsd', 'maxDayMicroUsd', 'FAREBOX_MAX_DAY_USD', 'in 24 hours'],
  ['maxTotalUsd', 'maxTotalMicroUsd', 'FAREBOX_MAX_TOTAL_USD', 'in total'],
  ['maxCallUsd', 'maxCallMicroUsd', 'FAREBOX_MAX_CALL_USD', 'per call'],
  ['askAboveUsd', 'askAboveMicroUsd', 'FAREBOX_ASK_ABOVE_USD', 'approval threshold'],
] as const
