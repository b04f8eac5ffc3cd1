import { resolve } from 'node:path'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import { defaultStateFolder } from '#wallet/private-file.ts'
import {
  type AmountSetting,
  defaultRails,
  type Policy,
  type PolicySettings,
  railOf,
  readPolicy,
  refillVariables,
} from '#wallet/rules/policy.ts'
import type { Payee } from '#wallet/terms/order.ts'
import { atHome } from './at-home.ts'
import { pinnedService } from './pinned-service.ts'

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
