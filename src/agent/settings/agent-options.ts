import { z } from 'zod'
import type { EnvironmentAgentOptions } from '../agent-from-environment.ts'
import type { AgentOptions } from '../create-agent.ts'
import { checkOptions } from './check-options.ts'

const text = z.string().optional()
const anyFunction = z.custom(value => typeof value === 'function', 'must be a function').optional()
const anyObject = z.custom(value => typeof value === 'object' && value !== null, 'must be an object').optional()

const deciding = { onApproval: anyFunction, unpricedCalls: z.enum(['ask', 'allow']).optional() }

// An option without a line here is an error of types.
const ofAgent = {
  baseUrl: z.string(),
  key: text,
  wallet: z.strictObject({ key: text, solanaKey: text }).optional(),
  // The wallet checks its names and values.
  policy: anyObject,
  ...deciding,
  nodes: z.strictObject({ eip155: text, solana: text }).optional(),
  stateFolder: text,
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
