import { parseUsd } from '#contract/money.ts'
import { nearNames } from '#contract/near-names.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { isVendor } from '#contract/wire/vendor.ts'
import { defaultCaps, highestCapMicroUsd, noNode } from '#wallet/limits.ts'
import { isEvmAddress, isSolanaAddress, refillProblem, refillVariables } from '#wallet/rules/policy.ts'
import { proxyTokenCharacters } from '../bounds.ts'
import { type AgentEnvironment, atHome } from './wallet-settings.ts'

/** The settings in an environment, validated but not yet used: this loads nothing of the wallet or the client. */
export interface AgentSettings {
  /** The environment without empty values. */
  env: AgentEnvironment
  apiKey: string | undefined
  walletKey: string | undefined
  outputFolder: string | undefined
  vendor: string | undefined
  /** Names of tools or sets to serve; the default tools if absent. */
  tools: readonly string[] | undefined
  /** Addresses that may be paid without asking, separated by commas. */
  payee: string | undefined
  /** What programs send to the proxy; a new one if absent. */
  proxyToken: string | undefined
  unpricedCalls: 'ask' | 'allow'
  /** Set by a desktop assistant's bundle. */
  bundle: string | undefined
}

/**
 * Reads all of an agent's environment. Each problem is one sentence that names its variable; no key's value is
 * repeated.
 */
export function readSettings(whole: AgentEnvironment): { settings: AgentSettings; problems: string[] } {
  const env = filledIn(whole)
  const given = (name: string): string | undefined => env[name]?.trim() || undefined
  const outputFolder = given('FAREBOX_OUTPUT_DIR')
  const tools = given('FAREBOX_TOOLS')
    ?.split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  return {
    settings: {
      env,
      apiKey: given('FAREBOX_API_KEY'),
      walletKey: given('FAREBOX_WALLET_KEY'),
      outputFolder: outputFolder === undefined ? undefined : atHome(outputFolder),
      vendor: given('FAREBOX_VENDOR'),
      tools,
      payee: given('FAREBOX_PAYEE'),
      proxyToken: given('FAREBOX_PROXY_TOKEN'),
      unpricedCalls: given('FAREBOX_UNPRICED_CALLS') === 'allow' ? 'allow' : 'ask',
      bundle: given('FAREBOX_BUNDLE'),
    },
    problems: [
      ...checks.flatMap(check => check(given) ?? []),
      ...amounts.flatMap(name => capProblem(name, given(name))),
      ...refillProblems(given),
      ...unknownVariables(Object.keys(whole)),
    ],
  }
}

function refillProblems(given: (name: string) => string | undefined): string[] {
  const { below, by, maxPayment } = refillVariables
  const texts = { below: given(below), by: given(by), maxPayment: given(maxPayment) ?? defaultCaps.maxPaymentUsd }
  const problem = refillProblem(texts, refillVariables)
  return problem ? [`${problem[0]}. ${problem[1]}`] : []
}

type Check = (given: (name: string) => string | undefined) => string | null

const checks: readonly Check[] = [
  given => addressProblem('FAREBOX_BASE_URL', given('FAREBOX_BASE_URL')),
  given =>
    /[^\x21-\x7e]/.test(given('FAREBOX_API_KEY') ?? '')
      ? 'FAREBOX_API_KEY contains a character that is not allowed in a key; copy the key again.'
      : null,
  given =>
    /^(?:0x)?[0-9a-fA-F]{64}$/.test(given('FAREBOX_WALLET_KEY') ?? '0'.repeat(64))
      ? null
      : 'FAREBOX_WALLET_KEY is not an EVM private key. A private key has 64 hexadecimal digits.',
  given =>
    given('FAREBOX_SOLANA_KEY') === undefined || decodeBase58(given('FAREBOX_SOLANA_KEY') ?? '', 64)
      ? null
      : 'FAREBOX_SOLANA_KEY is not a Solana private key. A private key has 64 bytes in base58, as wallet apps export it.',
  given => nodeProblem('FAREBOX_SOLANA_RPC_URL', given('FAREBOX_SOLANA_RPC_URL')),
  given => nodeProblem('FAREBOX_EVM_RPC_URL', given('FAREBOX_EVM_RPC_URL')),
  given =>
    /^postgres(ql)?:$/.test(protocolOf(given('FAREBOX_JOURNAL_URL') ?? 'postgres://host'))
      ? null
      : 'FAREBOX_JOURNAL_URL is not the address of a PostgreSQL database; write it as postgres://user:password@host:5432/name.',
  given =>
    isVendor(given('FAREBOX_VENDOR') ?? 'service')
      ? null
      : 'FAREBOX_VENDOR is invalid. Use 2 to 32 lower-case letters and digits, beginning with a letter.',
  given =>
    given('FAREBOX_PAYEE')
      ?.split(',')
      .every(address => isEvmAddress(address.trim()) || isSolanaAddress(address.trim())) === false
      ? 'FAREBOX_PAYEE is not an address. Use 0x and 40 hexadecimal digits, or base58 for Solana, or both separated by a comma.'
      : null,
  given => (isProxyToken(given('FAREBOX_PROXY_TOKEN') ?? 'x'.repeat(proxyTokenCharacters.least)) ? null : tokenProblem),
  given =>
    ['ask', 'allow'].includes(given('FAREBOX_UNPRICED_CALLS') ?? 'ask')
      ? null
      : 'FAREBOX_UNPRICED_CALLS is invalid. Use `ask` or `allow`.',
]

const isProxyToken = (text: string): boolean =>
  /^[\x21-\x7e]+$/.test(text) && text.length >= proxyTokenCharacters.least && text.length <= proxyTokenCharacters.most

const tokenProblem = `FAREBOX_PROXY_TOKEN is invalid. Use ${proxyTokenCharacters.least} to ${proxyTokenCharacters.most} letters, digits and punctuation characters, without spaces.`

const protocolOf = (address: string): string => (URL.canParse(address) ? new URL(address).protocol : '')

/** Node addresses often contain a key, so none is repeated. */
const nodeProblem = (name: string, text: string | undefined): string | null =>
  text === undefined || text === noNode || (URL.canParse(text) && /^https?:/.test(text))
    ? null
    : `${name} is not the address of a node. Write it as https://host/path, or as ${noNode} to ask no node.`

/** Returns what is wrong with a service's address, given as a variable or a flag; null if it is valid. */
export function addressProblem(name: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    return `${name} is not the address of a service; write it as https://host/api/v1.`
  }
  return url.protocol === 'https:' || isLoopback(url.hostname)
    ? null
    : `${name} must use https; plain http works only for services on this machine.`
}

/** A longer value may be a key in the wrong place, and is not repeated. */
const shownCharacters = 12

function capProblem(name: string, text: string | undefined): string[] {
  if (text === undefined) return []
  const amount = parseUsd(text)
  return amount !== null && amount >= 0n && amount <= highestCapMicroUsd
    ? []
    : [
        `${name} is ${text.length > shownCharacters ? '' : `\`${text}\`, which is `}not an amount in USD; write it as 5 or 0.25, at most 1000000.`,
      ]
}

/** The placeholder that an installing client leaves if the user entered nothing. */
const unanswered = /^\$\{user_config\.[^{}]*\}$/

/** The placeholder for a key in a printed configuration, for clients that do not fill in placeholders. */
export const notWrittenIn = 'WRITE THE API KEY HERE, OR REMOVE THIS LINE'

/**
 * A variable that a client could not fill in, in any client's spelling of a placeholder: it should come from the
 * client's own environment, but is not set there, or another client wrote this configuration.
 */
const isHandedThrough = (name: string, value: string): boolean =>
  [
    ...[`\${${name}}`, `\${${name}:-}`, `\${env:${name}}`, `{env:${name}}`, `$${name}`],
    `\${input:${name.toLowerCase()}}`,
  ].includes(value)

/**
 * Removes empty values: blank ones, and placeholders that were not filled in. Any other text stays and is validated,
 * because a cap that is silently ignored would be assumed to hold.
 */
export function filledIn<Given extends Readonly<Record<string, unknown>>>(given: Given): Partial<Given> {
  const kept = Object.entries(given).filter(([name, value]) => typeof value !== 'string' || says(name, value.trim()))
  return Object.fromEntries(kept) as Partial<Given>
}

const says = (name: string, value: string): boolean =>
  value !== '' && value !== notWrittenIn && !unanswered.test(value) && !isHandedThrough(name, value)

const caps = [
  'FAREBOX_MAX_PAYMENT_USD',
  'FAREBOX_MAX_DAY_USD',
  'FAREBOX_MAX_TOTAL_USD',
  'FAREBOX_MAX_CALL_USD',
  'FAREBOX_ASK_ABOVE_USD',
] as const

/** Settings that are an amount of USD. */
export const amounts = [...caps, refillVariables.below, refillVariables.by] as const

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
 * Returns a sentence for each unknown variable that was certainly meant for farebox: its name suggests a limit on
 * money, or nearly matches a setting. The user would otherwise rely on a limit that is ignored. Other variables are
 * left alone: Kubernetes sets FAREBOX_PORT and similar ones, and an engine's key may be in any variable.
 */
export const unknownVariables = (names: readonly string[]): string[] =>
  names.filter(name => name.startsWith(prefix) && !known.includes(name)).flatMap(name => likelyMistake(name) ?? [])

export const isAgentVariable = (name: string): boolean => ofAgent.includes(name)

/** Returns the unknown variables that are not refused, each with the most similar setting. */
export const unreadVariables = (names: readonly string[]): { name: string; near: string | undefined }[] =>
  names
    .filter(name => name.startsWith(prefix) && !known.includes(name) && likelyMistake(name) === null)
    .map(name => ({ name: name.slice(0, nameCharacters), near: nearName(name, undefined) }))

const prefix = 'FAREBOX_'

/** Returns a sentence for a variable that was certainly meant for farebox; null for any other. */
function likelyMistake(name: string): string | null {
  const isOfMoney = moneyWords.test(bare(name))
  const near = nearName(name, isOfMoney ? undefined : surelyMeant)
  if (!isOfMoney && near === undefined) return null
  const others = `The caps are ${caps.join(', ')}, and ${amounts.slice(caps.length).join(' and ')} refill credit.`
  return `${name.slice(0, nameCharacters)} is not a setting. ${near === undefined ? others : `Did you mean ${near}?`}`
}

/** Removes the common prefix, which would make all names similar. */
const bare = (name: string): string => name.slice(prefix.length)

function nearName(name: string, leastLikeness: number | undefined): string | undefined {
  const [near] = nearNames(bare(name), known.map(bare), 1, leastLikeness)
  return near === undefined ? undefined : `${prefix}${near}`
}

const moneyWords = /(?:^|_)(?:MAX|ASK|REFILL|DRY|CAPS?|LIMITS?|BUDGET|USD)(?:_|$)/

/** Similarity from which a name counts as mistyped. */
const surelyMeant = 0.65

/** Longest untrusted name in a sentence. */
const nameCharacters = 80
