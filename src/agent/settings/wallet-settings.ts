import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import { maxSettingsFileBytes } from '#wallet/limits.ts'
import { defaultStateFolder, readPrivateFile, replacePrivateFile } from '#wallet/private-file.ts'
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

/** What of an environment concerns the wallet. A key is no part of it: it is read where it is used. */
export type AgentEnvironment = Readonly<Record<string, string | undefined>>

/** Where `farebox up` serves unless told otherwise. */
export const defaultBaseUrl = 'http://127.0.0.1:8402/api/v1'

/** The service that the environment names, else the one that the folder's wallet was made for. */
const namedService = (env: AgentEnvironment): string | null => env.FAREBOX_BASE_URL || pinnedService(stateFolderOf(env))

export const baseUrlOf = (env: AgentEnvironment): string => namedService(env) ?? defaultBaseUrl

export const isServiceNamed = (env: AgentEnvironment): boolean => namedService(env) !== null

/** `FAREBOX_DATA`, or `~/.farebox`. */
export const stateFolderOf = (env: AgentEnvironment): string =>
  resolve(env.FAREBOX_DATA ? atHome(env.FAREBOX_DATA) : defaultStateFolder())

/** The journal that several processes share; a secret. Undefined where the data folder keeps its own. */
export const journalUrlOf = (env: AgentEnvironment): string | undefined => env.FAREBOX_JOURNAL_URL?.trim() || undefined

/** The nodes that an environment names, or `none`; a secret, because their addresses often have a key in them. */
export const nodesOf = (env: AgentEnvironment): ChainNodes => ({
  eip155: env.FAREBOX_EVM_RPC_URL?.trim() || undefined,
  solana: env.FAREBOX_SOLANA_RPC_URL?.trim() || undefined,
})

/** Payees from a setting: addresses with commas between, each on the rail that it is for. */
export const payeesNamed = (text: string | undefined): Omit<Payee, 'origin'>[] =>
  (text ?? '').split(',').flatMap(given => {
    const payTo = given.trim()
    const rail = payTo === '' ? null : railOf({ rails: defaultRails }, payTo)
    return rail ? [{ ...rail, payTo }] : []
  })

/** The policy that an environment allows; empty values are as good as none. Throws the wallet's refusal. */
export function policyOf(env: AgentEnvironment, more: Omit<Partial<PolicySettings>, 'serviceUrl'> = {}): Policy {
  const settings = {
    serviceUrl: baseUrlOf(env),
    ...Object.fromEntries(Object.entries(amountVariables).map(([setting, name]) => [setting, env[name] || undefined])),
    // Whatever stands there but a plain no keeps the money in.
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

/** Which service the wallet of a folder was made for. */
export const serviceFileName = 'service.json'

/** The service that `farebox wallet create --service` has named for a folder; null where it named none. Throws the wallet's refusal. */
export function pinnedService(folder: string): string | null {
  const path = join(folder, serviceFileName)
  const text = readPrivateFile(path, maxSettingsFileBytes, false)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const baseUrl = json.ok ? baseUrlIn(json.value) : null
  if (baseUrl === null) throw settingsRefusal(`${path} does not name a service`, 'Remove it, and set FAREBOX_BASE_URL.')
  serviceOrigin(baseUrl)
  return baseUrl
}

/** Read by hand, because every start of an assistant reads it and loading zod would be a third of that start. */
function baseUrlIn(file: unknown): string | null {
  if (typeof file !== 'object' || file === null) return null
  const { farebox, baseUrl, ...others } = file as Record<string, unknown>
  return farebox === 'service' && typeof baseUrl === 'string' && Object.keys(others).length === 0 ? baseUrl : null
}

export const pinService = (folder: string, baseUrl: string): void =>
  replacePrivateFile(folder, serviceFileName, `${JSON.stringify({ farebox: 'service', baseUrl }, null, 2)}\n`)

/**
 * A folder as the user writes it. No shell reads what stands in the settings of a desktop client, and some clients fill in
 * nothing within a default, so the two usual words for one's own folder arrive here as they are.
 */
export const atHome = (path: string): string => path.replace(/^(~|\$\{HOME\})(?=$|[\\/])/, () => homedir())
