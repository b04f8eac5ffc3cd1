import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import { maxSettingsFileBytes } from '#wallet/limits.ts'
import { homeDataFolder, readPrivateFile, replacePrivateFile } from '#wallet/private-file.ts'
import {
  type AmountSetting,
  defaultRails,
  type Policy,
  type PolicySettings,
  railOf,
  readPolicy,
  refillVariables,
  serviceOrigin,
  settingsRefusal,
} from '#wallet/rules/policy.ts'
import type { Payee } from '#wallet/terms/order.ts'

/** The part of an environment that concerns the wallet. Keys are not part of it: they are read where they are used. */
export type AgentEnvironment = Readonly<Record<string, string | undefined>>

/** Where `farebox up` serves by default. */
const defaultBaseUrl = 'http://127.0.0.1:8402/api/v1'

/** The service in the environment, or the one that the folder's wallet was made for. */
const namedService = (env: AgentEnvironment): string | null => env.FAREBOX_BASE_URL || pinnedService(dataFolderOf(env))

export const baseUrlOf = (env: AgentEnvironment): string => namedService(env) ?? defaultBaseUrl

export const isServiceNamed = (env: AgentEnvironment): boolean => namedService(env) !== null

/** `FAREBOX_DATA`, or `~/.farebox`. */
export const dataFolderOf = (env: AgentEnvironment): string =>
  resolve(env.FAREBOX_DATA ? atHome(env.FAREBOX_DATA) : homeDataFolder())

/** The shared journal's URL, which is a secret. Undefined if the journal is in the data folder. */
export const journalUrlOf = (env: AgentEnvironment): string | undefined => env.FAREBOX_JOURNAL_URL?.trim() || undefined

/** The RPC nodes in the environment, or `none`. They are secret, because their URLs often contain a key. */
export const nodesOf = (env: AgentEnvironment): ChainNodes => ({
  eip155: env.FAREBOX_EVM_RPC_URL?.trim() || undefined,
  solana: env.FAREBOX_SOLANA_RPC_URL?.trim() || undefined,
})

/** Parses a setting's payees: addresses separated by commas, each for the rail of its form. */
export const payeesNamed = (text: string | undefined): Omit<Payee, 'origin'>[] =>
  (text ?? '').split(',').flatMap(given => {
    const payTo = given.trim()
    const rail = payTo === '' ? null : railOf({ rails: defaultRails }, payTo)
    return rail ? [{ ...rail, payTo }] : []
  })

/** Returns the policy that an environment allows; empty values count as absent. Throws the wallet's refusal. */
export function policyOf(env: AgentEnvironment, more: Omit<Partial<PolicySettings>, 'serviceUrl'> = {}): Policy {
  const settings = {
    serviceUrl: baseUrlOf(env),
    ...Object.fromEntries(Object.entries(amountVariables).map(([setting, name]) => [setting, env[name] || undefined])),
    // Any other value switches the dry run on, so that a misspelled one spends nothing.
    dryRun: !['', '0', 'false', 'no'].includes((env.FAREBOX_DRY_RUN ?? '').toLowerCase()),
    ...more,
  }
  return readPolicy(settings, setting => amountVariables[setting])
}

const amountVariables: Readonly<Record<AmountSetting, string>> = {
  maxPaymentUsd: 'FAREBOX_MAX_PAYMENT_USD',
  maxDayUsd: 'FAREBOX_MAX_DAY_USD',
  maxTotalUsd: 'FAREBOX_MAX_TOTAL_USD',
  maxCallUsd: 'FAREBOX_MAX_CALL_USD',
  askAboveUsd: 'FAREBOX_ASK_ABOVE_USD',
  refillBelowUsd: refillVariables.below,
  refillByUsd: refillVariables.by,
}

/** Which service a folder's wallet was made for. */
export const serviceFileName = 'service.json'

/**
 * Returns the service that `farebox wallet create --service` recorded for a folder; null if there is none. Throws the
 * wallet's refusal.
 */
function pinnedService(folder: string): string | null {
  const path = join(folder, serviceFileName)
  const text = readPrivateFile(path, maxSettingsFileBytes, false)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const baseUrl = json.ok ? baseUrlIn(json.value) : null
  if (baseUrl === null) throw settingsRefusal(`${path} does not name a service`, 'Remove it, and set FAREBOX_BASE_URL.')
  serviceOrigin(baseUrl)
  return baseUrl
}

/**
 * Parsed without zod, because every start of an assistant reads this file, and loading zod would take a third of that
 * start.
 */
function baseUrlIn(file: unknown): string | null {
  if (typeof file !== 'object' || file === null) return null
  const { farebox, baseUrl, ...others } = file as Record<string, unknown>
  return farebox === 'service' && typeof baseUrl === 'string' && Object.keys(others).length === 0 ? baseUrl : null
}

export const pinService = (folder: string, baseUrl: string): void =>
  replacePrivateFile(folder, serviceFileName, `${JSON.stringify({ farebox: 'service', baseUrl }, null, 2)}\n`)

/**
 * Expands a folder as the user writes it. A desktop client's settings pass through no shell, and some clients do not
 * fill in a default, so the two usual names of the home folder arrive here unchanged.
 */
export const atHome = (path: string): string => path.replace(/^(~|\$\{HOME\})(?=$|[\\/])/, () => homedir())
