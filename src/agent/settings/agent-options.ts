import { z } from 'zod'
import type { Pause } from '#client/retry/retry.ts'
import { issueSentence, kindWord } from '#contract/errors/issue-sentence.ts'
import { nearNames } from '#contract/near-names.ts'
import type { Clock } from '#contract/time.ts'
import type { ApprovalDecision, ApprovalRequest } from '#toolkit/approval.ts'
import type { Policy, PolicySettings } from '#wallet/rules/policy.ts'
import type { AgentEnvironment } from './wallet-settings.ts'

const text = z.string().optional()
const anyFunction = z.custom(value => typeof value === 'function', 'must be a function').optional()
const anyObject = z.custom(value => typeof value === 'object' && value !== null, 'must be an object').optional()

const deciding = { onApproval: anyFunction, unpricedCalls: z.enum(['ask', 'allow']).optional() }

// A new option without a line here is a type error.
const ofAgent = {
  baseUrl: z.string(),
  key: text,
  wallet: z.strictObject({ key: text, solanaKey: text }).optional(),
  // The wallet checks its names and values.
  policy: anyObject,
  ...deciding,
  nodes: z.strictObject({ eip155: text, solana: text }).optional(),
  dataFolder: text,
  outputFolder: text,
  inputFolders: z.array(z.string()).optional(),
  notesFolder: text,
  journalUrl: text,
  vendor: text,
  fetch: anyFunction,
  clock: anyObject,
  pause: anyFunction,
} satisfies Record<keyof AgentOptions, z.ZodType>

const ofEnvironment = { env: anyObject, passphrase: text, ...deciding } satisfies Record<
  keyof EnvironmentAgentOptions,
  z.ZodType
>

export const checkAgentOptions = (given: unknown): void => checkOptions('createAgent', ofAgent, given)

export const checkEnvironmentOptions = (given: unknown): void =>
  checkOptions('agentFromEnvironment', ofEnvironment, given)

/** The options of `createAgent`. */
export interface AgentOptions
  extends Omit<OpenOptions, 'apiKey' | 'walletKey' | 'solanaKey' | 'policy' | 'secretFiles'> {
  /** An API key: its account pays for calls, and is never topped up. */
  key?: string
  /** The agent's own wallet: its EVM private key in hex, or one for Solana as wallets export it, or both. */
  wallet?: { key?: string; solanaKey?: string }
  /** What the wallet may do without approval; the defaults are 5 USD per payment, 10 per day, 20 in total. */
  policy?: Omit<PolicySettings, 'serviceUrl'>
  /** Decides requests for approval. Without it, a call that needs approval throws `ApprovalRequired`. */
  onApproval?: AskUser | undefined
  /**
   * `allow` lets `fetch` make calls whose price is unknown in advance, limited by the caps on payments; `ask` by
   * default.
   */
  unpricedCalls?: UnpricedCalls | undefined
}

/** The options of `agentFromEnvironment`. */
export interface EnvironmentAgentOptions extends Pick<AgentOptions, 'onApproval' | 'unpricedCalls'> {
  /** Defaults to `process.env`. */
  env?: AgentEnvironment
  /** Opens the wallet that `farebox wallet create` made in the data folder. */
  passphrase?: string
}

export interface OpenOptions {
  /** Includes the path: `https://host/api/v1`. */
  baseUrl: string
  /** Calls are paid from this key's account, which is never topped up. */
  apiKey?: string | undefined
  /** EVM private key in hex: calls are paid from the wallet. Takes precedence over an API key. */
  walletKey?: string | undefined
  /** Solana private key, 64 bytes in base58; with the EVM key, or instead of it. */
  solanaKey?: string | undefined
  /**
   * RPC nodes of the chains: public ones by default; with `none`, no node is asked. Without a Solana node, the wallet
   * cannot pay on Solana.
   */
  nodes?: { eip155?: string | undefined; solana?: string | undefined } | undefined
  /** The defaults if absent. */
  policy?: Policy | undefined
  dataFolder?: string | undefined
  /** A journal whose caps other processes share: `postgres://…`. By default, the data folder's own. */
  journalUrl?: string | undefined
  /** Where to record which journal belongs to a key; by default, the user's own folder on this machine. */
  notesFolder?: string | undefined
  /** The only folder in which calls save files; by default `output` in the data folder. */
  outputFolder?: string | undefined
  /** Folders whose files may be sent, in addition to the output folder. */
  inputFolders?: readonly string[] | undefined
  /** Files that are never read, wherever they are. */
  secretFiles?: readonly string[] | undefined
  vendor?: string | undefined
  clock?: Clock | undefined
  /** How the agent waits for jobs and answers; tests replace it. */
  pause?: Pause | undefined
  /** Replaces the agent's own connections. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
}

/** How a call of unknown price is handled: the user is asked, or only the caps on payments limit it. */
export type UnpricedCalls = 'ask' | 'allow'

/** Asks for a decision; what a program decides counts as its author's decision. */
export type AskUser = (request: ApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>

/**
 * Throws a `TypeError` for invalid options of `createAgent` and similar functions: one sentence that names the option
 * and what is allowed, because a misspelled cap would limit nothing. No value is repeated.
 */
function checkOptions(command: string, shape: z.ZodRawShape, given: unknown): void {
  const [issue] = z.strictObject(shape).safeParse(given).error?.issues ?? []
  if (issue) throw new TypeError(`${command}: ${sayIssue(shape, given, issue)}`)
}

function sayIssue(shape: z.ZodRawShape, given: unknown, issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.')
  switch (issue.code) {
    case 'unrecognized_keys': {
      const name = String(issue.keys[0]).slice(0, nameCharacters)
      const known = namesAt(shape, issue.path)
      const [near] = nearNames(name, known, 1)
      const meant = near === undefined ? '' : ` Did you mean \`${near}\`?`
      return `\`${place === '' ? '' : `${place}.`}${name}\` is not an option; the options are ${known.join(', ')}.${meant}`
    }
    case 'invalid_value':
      return `\`${place}\` must be one of ${issue.values.map(String).join(', ')}.`
    case 'invalid_type':
      if (place === '') return `Its options are an object with ${Object.keys(shape).join(', ')}.`
      return valueAt(given, issue.path) === undefined
        ? `\`${place}\` is missing (${kindWord(issue.expected)}).`
        : `\`${place}\` must be of type ${kindWord(issue.expected)}.`
    default:
      return `\`${place}\` ${issueSentence(issue).replace(/^Must\b/, 'must')}.`
  }
}

/** Longest untrusted name in a sentence. */
const nameCharacters = 80

/** Returns the names that the object at a path has. */
function namesAt(shape: z.ZodRawShape, [first, ...rest]: readonly PropertyKey[]): string[] {
  if (first === undefined) return Object.keys(shape)
  const member = shape[String(first)]
  const inner = member instanceof z.ZodOptional ? member.unwrap() : member
  return inner instanceof z.ZodObject ? namesAt(inner.shape, rest) : []
}

const valueAt = (given: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, name) => (Object(value) === value ? Reflect.get(value as object, name) : undefined),
    given,
  )
