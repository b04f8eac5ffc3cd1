import { nearNames } from '#contract/near-names.ts'
import { refillVariables } from '#wallet/rules/policy.ts'

const caps = [
  'FAREBOX_MAX_PAYMENT_USD',
  'FAREBOX_MAX_DAY_USD',
  'FAREBOX_MAX_TOTAL_USD',
  'FAREBOX_MAX_CALL_USD',
  'FAREBOX_ASK_ABOVE_USD',
] as const

/** Settings that are an amount of USD. */
export const amounts = [...caps, refillVariables.below, refillVariables.by] as const

/** What an agent reads. */
const ofAgent: readonly string[] = [
  ...amounts,
  'FAREBOX_BASE_URL',
  'FAREBOX_API_KEY',
  'FAREBOX_WALLET_KEY',
  'FAREBOX_SOLANA_KEY',
  'FAREBOX_SOLANA_RPC_URL',
  'FAREBOX_EVM_RPC_URL',
  'FAREBOX_JOURNAL_URL',
  'FAREBOX_OUTPUT_DIR',
  'FAREBOX_VENDOR',
  'FAREBOX_TOOLS',
  'FAREBOX_PAYEE',
  'FAREBOX_PROXY_TOKEN',
  'FAREBOX_UNPRICED_CALLS',
  'FAREBOX_DRY_RUN',
  'FAREBOX_DATA',
  'FAREBOX_BUNDLE',
]

/** Every variable that some part of farebox reads. */
const known: readonly string[] = [
  ...ofAgent,
  'FAREBOX_DEBUG',
  'FAREBOX_CONFIG',
  'FAREBOX_SECRET',
  'FAREBOX_FORMER_SECRET',
]

/**
 * A sentence for each variable that nobody reads and that was surely meant for farebox: it sounds like a bound on money, or
 * is nearly the name of a setting. A bound that nobody reads would be taken for one that holds. Others are left alone:
 * Kubernetes sets FAREBOX_PORT and its like, and an engine's key may stand in any variable.
 */
export const unknownVariables = (names: readonly string[]): string[] =>
  names.filter(name => name.startsWith(prefix) && !known.includes(name)).flatMap(name => strange(name) ?? [])

export const isAgentVariable = (name: string): boolean => ofAgent.includes(name)

/** The variables that nobody reads and that are not refused, each with the setting that has nearly its name. */
export const unreadVariables = (names: readonly string[]): { name: string; near: string | undefined }[] =>
  names
    .filter(name => name.startsWith(prefix) && !known.includes(name) && strange(name) === null)
    .map(name => ({ name: name.slice(0, nameCharacters), near: nearName(name, undefined) }))

const prefix = 'FAREBOX_'

function strange(name: string): string | null {
  const isOfMoney = moneyWords.test(bare(name))
  const near = nearName(name, isOfMoney ? undefined : surelyMeant)
  if (!isOfMoney && near === undefined) return null
  const others = `The caps are ${caps.join(', ')}, and ${amounts.slice(caps.length).join(' and ')} refill credit.`
  return `${name.slice(0, nameCharacters)} is no setting. ${near === undefined ? others : `Did you mean ${near}?`}`
}

/** Without what all have in common, which would make all of them alike. */
const bare = (name: string): string => name.slice(prefix.length)

function nearName(name: string, leastLikeness: number | undefined): string | undefined {
  const [near] = nearNames(bare(name), known.map(bare), 1, leastLikeness)
  return near === undefined ? undefined : `${prefix}${near}`
}

const moneyWords = /(?:^|_)(?:MAX|ASK|REFILL|DRY|CAPS?|LIMITS?|BUDGET|USD)(?:_|$)/

/** Likeness of a name that is another one with a slip in it. */
const surelyMeant = 0.65

/** A stranger's name in a sentence. */
const nameCharacters = 80
