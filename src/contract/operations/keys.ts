import { z } from 'zod'
import { CodedError, DetailedError, PayloadTooLarge, readFailures, StandardError } from '../errors/failures.ts'
import { answerListOf, closedObject, spelledObject } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** Keys of an account, managed by one of its ADMIN keys (published contract §11.3). */

export const keyRoles = ['INFERENCE', 'ADMIN'] as const
export type KeyRole = (typeof keyRoles)[number]

/** When a key's limits reset: each UTC day, each UTC month, or never. */
const keyLimitPeriods = ['EPOCH', 'MONTH', 'LIFETIME'] as const
export type KeyLimitPeriod = (typeof keyLimitPeriods)[number]

/** Longest description of a key, as published. */
const descriptionCharacters = 64

/** Most USD that a key's limit may allow per period, as published. */
const mostLimitUsd = 9_999_999_999

/** The ledger counts micro-USD; a smaller limit would allow nothing. */
const leastLimitUsd = 0.000_001

const Limit = z
  .number()
  .min(0)
  .max(mostLimitUsd)
  // `min` has refused a negative one already.
  .refine(usd => usd <= 0 || usd >= leastLimitUsd, 'Must be at least 0.000001, or 0 to allow nothing')
  .nullable()

/** `vcu` is the older name of `diem`; if both are given, they must be equal. */
const ConsumptionLimit = closedObject({
  usd: Limit.optional(),
  diem: Limit.optional(),
  vcu: Limit.optional(),
}).refine(({ diem, vcu }) => diem === undefined || vcu === undefined || vcu === null || diem === vcu, {
  path: ['vcu'],
  message: 'Is an older name of `diem`: leave it out, or send the same value',
})

const dateOnly = /^\d{4}-\d{2}-\d{2}$/
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/

/** A date means its first moment in UTC. Rejects dates such as 31 February, which the date parser would accept. */
const isMoment = (text: string): boolean => {
  const atMs = dateOnly.test(text) || dateTime.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text.slice(0, 10))
}

const ExpiresAt = z
  .string()
  .max(24)
  .refine(text => text === '' || isMoment(text), 'Expected 2027-01-31, 2027-01-31T12:00:00Z, or "" for never')

/** Limited to characters that every store can keep unchanged. */
const Description = z
  .string()
  .max(descriptionCharacters)
  .refine(
    text => !text.includes('\0') && text.isWellFormed(),
    'Must be text, without NUL characters or unpaired surrogates',
  )

const createKeyShape = {
  apiKeyType: z.enum(keyRoles),
  description: Description,
  consumptionLimit: ConsumptionLimit.optional(),
  limitPeriod: z.enum(keyLimitPeriods).optional(),
  expiresAt: ExpiresAt.nullish(),
}

export const CreateKeyRequest = spelledObject(createKeyShape).meta({ id: 'CreateKeyRequest' })
export type CreateKeyRequest = z.output<typeof CreateKeyRequest>

export const UpdateKeyRequest = spelledObject({
  id: z.string().min(1).max(100),
  description: Description.optional(),
  consumptionLimit: ConsumptionLimit.optional(),
  limitPeriod: z.enum(keyLimitPeriods).optional(),
  expiresAt: ExpiresAt.nullish(),
}).meta({ id: 'UpdateKeyRequest' })
export type UpdateKeyRequest = z.output<typeof UpdateKeyRequest>

/** What a key may spend; null is unlimited. */
const Limits = z.strictObject({
  usd: z.number().nullable().optional(),
  diem: z.number().nullable().optional(),
  vcu: z.number().nullable().optional(),
})

/** Decimal USD with six places. */
const Usage = z.strictObject({ usd: z.string(), diem: z.string() })

const KeyMembers = z.strictObject({
  id: z.string(),
  apiKeyType: z.enum(keyRoles),
  description: z.string().optional(),
  last6Chars: z.string(),
  consumptionLimits: Limits,
  limitPeriod: z.enum(keyLimitPeriods),
  createdAt: z.string().nullable(),
  expiresAt: z.string().nullable(),
  /** Time of the latest charge, to the millisecond; null if the key was never charged. */
  lastUsedAt: z.string().nullable(),
  usage: z.strictObject({ trailingSevenDays: Usage.extend({ vcu: z.string() }) }).optional(),
  /** Charges in the current window; only for keys with limits. */
  currentPeriodUsage: Usage.optional(),
})

export const ApiKey = KeyMembers.meta({ id: 'ApiKey' })
export type ApiKey = z.output<typeof ApiKey>

/** A key after a change, without its charges, which a change does not affect. */
export const ChangedKey = KeyMembers.omit({ usage: true, currentPeriodUsage: true }).meta({ id: 'ChangedKey' })
export type ChangedKey = z.output<typeof ChangedKey>

const CreatedKeyMembers = z.strictObject({
  id: z.string(),
  /** The only copy. */
  apiKey: z.string(),
  apiKeyType: z.enum(keyRoles),
  consumptionLimit: Limits,
  limitPeriod: z.enum(keyLimitPeriods),
  description: z.string().optional(),
  expiresAt: z.string().nullable(),
})

export const CreatedKey = z
  .strictObject({ success: z.literal(true), data: CreatedKeyMembers })
  .meta({ id: 'CreatedKey' })
export type CreatedKey = z.output<typeof CreatedKey>

export const adminFailures = { ...readFailures, 400: z.union([DetailedError, CodedError]), 401: StandardError }

const shared = { tag: 'API Keys', auth: ['apiKey'], adminKey: true, charge: 'free' } as const
const withoutBody = { ...adminFailures, 404: StandardError }
/** 403: a key with a budget may not change other keys. */
const changeFailures = { ...withoutBody, 403: StandardError }
const bodyFailures = { 413: PayloadTooLarge, 415: StandardError }

export const listKeys = defineOperation({
  id: 'getApiKeys',
  method: 'GET',
  path: '/api_keys',
  summary: 'Active and expired keys of the account, newest first',
  ...shared,
  limit: 'read',
  request: {},
  answer: { json: z.strictObject({ object: z.literal('list'), data: answerListOf(ApiKey) }).meta({ id: 'ApiKeys' }) },
  failures: adminFailures,
})

export const createKey = defineOperation({
  id: 'createApiKey',
  method: 'POST',
  path: '/api_keys',
  summary:
    'Create an API key, which is shown only once. If the calling key has a budget, the new budget is deducted from it',
  ...shared,
  limit: 'keys.create',
  request: { body: CreateKeyRequest },
  answer: { json: CreatedKey },
  failures: { ...adminFailures, ...bodyFailures },
})

export const updateKey = defineOperation({
  id: 'updateApiKey',
  method: 'PATCH',
  path: '/api_keys',
  summary: 'Change the description, limits or expiry of a key; a key with a budget can only lower its own',
  ...shared,
  limit: 'read',
  request: { body: UpdateKeyRequest },
  answer: { json: z.strictObject({ success: z.literal(true), data: ChangedKey }).meta({ id: 'UpdatedApiKey' }) },
  failures: { ...changeFailures, ...bodyFailures },
})

export const deleteKey = defineOperation({
  id: 'deleteApiKey',
  method: 'DELETE',
  path: '/api_keys',
  summary: 'Revoke a key permanently. A key with a budget can only revoke itself',
  ...shared,
  limit: 'read',
  request: { query: z.object({ id: z.string().min(1).max(100) }) },
  answer: { json: z.strictObject({ success: z.literal(true) }).meta({ id: 'DeletedApiKey' }) },
  failures: changeFailures,
})

export const getKey = defineOperation({
  id: 'getApiKeyById',
  method: 'GET',
  path: '/api_keys/{id}',
  summary: 'One key of the account, with its usage',
  ...shared,
  limit: 'read',
  request: { params: z.object({ id: z.string().min(1).max(100) }) },
  answer: { json: z.strictObject({ data: ApiKey }).meta({ id: 'ApiKeyById' }) },
  failures: withoutBody,
})

/** Creates a key for a wallet's account, in return for the wallet's signature (published contract §11.3). */

const web3KeyMembers = { path: '/api_keys/generate_web3_key', tag: 'API Keys', auth: [], charge: 'free' } as const

export const getWeb3Token = defineOperation({
  id: 'getApiKeyGenerateWeb3Key',
  method: 'GET',
  summary: 'A token that a wallet signs to get an API key; valid once, for 15 minutes',
  ...web3KeyMembers,
  limit: 'read',
  request: {},
  answer: {
    json: z
      .strictObject({ success: z.literal(true), data: z.strictObject({ token: z.string() }) })
      .meta({ id: 'Web3Token' }),
  },
  failures: readFailures,
})

/** `signature` is an EIP-191 signature of the token. A malformed address gets an error that says what is allowed. */
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
  summary: 'Create an API key for the wallet that signed the token; the key is shown only once',
  ...web3KeyMembers,
  limit: 'keys.create',
  request: { body: CreateWeb3KeyRequest },
  answer: { json: CreatedKey },
  failures: { ...readFailures, ...bodyFailures },
})
