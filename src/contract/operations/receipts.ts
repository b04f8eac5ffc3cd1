import { z } from 'zod'
import { callerFailures, readFailures, StandardError } from '../errors/failures.ts'
import { paging } from '../limits.ts'
import { answerListOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'

/** Signed receipts of charges and refunds: specific to farebox, in addition to the published contract. */

/** The last second of the year 9999, Unix seconds: later ones don't fit the usual form of ISO 8601. */
const lastSecond = 253_402_300_799

/** An integer as text, because JSON numbers are not exact at this size. */
const digits = z.string().regex(/^(0|[1-9]\d{0,38})$/)

export const ReceiptLine = z.object({
  sku: z.string(),
  units: digits,
  unit_price_pico_usd: digits,
  amount_micro_usd: digits,
})

/**
 * The contents of a receipt, as claims of a JSON Web Token. The lines are what was used; their sum, rounded up once, is
 * the amount plus the part that was written off.
 */
export const ReceiptClaims = z.object({
  /** Base URL of the service. */
  iss: z.string(),
  /** Who was charged: a wallet's address, or an account. */
  sub: z.string(),
  /** When the ledger recorded it, Unix seconds. */
  iat: z.number().int().min(0).max(lastSecond),
  kind: z.enum(['charge', 'refund']),
  /** The request that was charged: the `cf-ray` of its answer. */
  request: z.string(),
  /** Id of the operation; null if the ledger does not record it. */
  operation: z.string().nullable(),
  model: z.string().nullable(),
  /** Id of the API key that made the call, if it was made with a key. */
  api_key: z.string().optional(),
  amount_micro_usd: digits,
  /** The same amount, split by the balance that paid for it, in micro-USD. */
  paid_with: z.object({ usd: digits, diem: digits }),
  lines: answerListOf(ReceiptLine),
  /** The cost of the lines beyond the amount, which is the service's loss. */
  written_off_micro_usd: digits,
  /** The reason for a refund. */
  reason: z.string().optional(),
})
export type ReceiptClaims = z.output<typeof ReceiptClaims>

/** `typ` of a receipt's header, so that no other token signed with the same key passes for one. */
export const receiptType = 'farebox-receipt+jwt'

/** A compact JWS: Ed25519 over header and claims. */
const signed = z.string()

export const ReceiptKeys = z
  .strictObject({
    keys: answerListOf(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
      }),
    ),
  })
  .meta({ id: 'ReceiptKeys' })
export type ReceiptKeys = z.output<typeof ReceiptKeys>

export const getReceiptKeys = defineOperation({
  id: 'getReceiptKeys',
  method: 'GET',
  path: '/farebox/receipt_keys',
  tag: 'farebox',
  summary: 'All public keys for receipts, newest first (RFC 7517)',
  isOwn: true,
  auth: [],
  charge: 'free',
  limit: 'read',
  request: {},
  answer: { json: ReceiptKeys },
  failures: readFailures,
})

export const Receipts = z
  .strictObject({
    object: z.literal('list'),
    data: answerListOf(z.strictObject({ kind: z.enum(['charge', 'refund']), request: z.string(), receipt: signed })),
    /** The value of `before` for the next page; null at the end. */
    next: z.string().nullable(),
  })
  .meta({ id: 'Receipts' })
export type Receipts = z.output<typeof Receipts>

const { default: usual, maximum } = paging.receipts

/** Identifies one receipt of an account. */
const place = z.string().regex(/^(charge|refund):[0-9a-f-]{36}$/)

export const listReceipts = defineOperation({
  id: 'listReceipts',
  method: 'GET',
  path: '/farebox/receipts',
  tag: 'farebox',
  summary: "Signed receipts of the caller's account, newest first",
  isOwn: true,
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
  request: {
    query: z.object({ limit: z.coerce.number().int().min(1).max(maximum).default(usual), before: place.optional() }),
  },
  answer: { json: Receipts },
  failures: callerFailures,
})

export const Receipt = z.strictObject({ charge: signed, refund: signed.nullable() }).meta({ id: 'Receipt' })
export type Receipt = z.output<typeof Receipt>

export const getReceipt = defineOperation({
  id: 'getReceipt',
  method: 'GET',
  path: '/farebox/receipts/{request}',
  tag: 'farebox',
  summary: 'The signed receipts of a request’s charge and refund',
  isOwn: true,
  auth: ['apiKey', 'wallet'],
  charge: 'free',
  limit: 'read',
  request: { params: z.object({ request: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) }) },
  answer: { json: Receipt },
  failures: { ...callerFailures, 404: StandardError },
})
