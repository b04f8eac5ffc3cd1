import { z } from 'zod'
import { bodyFailures, CreatedKey, createKeyShape } from './api-keys.ts'
import { DetailedError, StandardError } from './failures.ts'
import { defineOperation } from './operation.ts'
import { spelledObject } from './spelled-object.ts'

/** A key for a wallet's account, against a signature of the wallet (published contract §11.3). */

const failures = { 400: DetailedError, 429: StandardError, 500: StandardError, 503: StandardError }

const shared = { path: '/api_keys/generate_web3_key', tag: 'API Keys', auth: [], charge: 'free' } as const

export const getWeb3Token = defineOperation({
  id: 'getApiKeyGenerateWeb3Key',
  method: 'GET',
  summary: 'A token that a wallet signs to get an API key; good for 15 minutes, and once',
  ...shared,
  limit: 'read',
  request: {},
  answer: {
    json: z
      .strictObject({ success: z.literal(true), data: z.strictObject({ token: z.string() }) })
      .meta({ id: 'Web3Token' }),
  },
  failures,
})

/** `signature` is of the token's text, by EIP-191; what the address is, the answer to a wrong one says. */
export const CreateWeb3KeyRequest = spelledObject({
  ...createKeyShape,
  address: z.string().max(200),
  signature: z.string().max(1_000),
  token: z.string().max(2_000),
}).meta({ id: 'CreateWeb3KeyRequest' })
export type CreateWeb3KeyRequest = z.output<typeof CreateWeb3KeyRequest>

export const createWeb3Key = defineOperation({
  id: 'postApiKeyGenerateWeb3Key',
  method: 'POST',
  summary: 'Make a key of the account of the wallet that signed the token; it is shown this once',
  ...shared,
  limit: 'keys.create',
  request: { body: CreateWeb3KeyRequest },
  answer: { json: CreatedKey },
  failures: { ...failures, ...bodyFailures },
})
