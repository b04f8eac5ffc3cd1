import { z } from 'zod'
import { answerListOf } from '../schemas.ts'
import { x402Version } from './networks.ts'

/**
 * x402 version 2 (brief §2.1–§2.3). Answers are strict. What a client signs is parsed leniently, and checked elsewhere.
 */

/** Digits only: `BigInt('')` is 0 and `BigInt('0x10')` is 16, so a looser pattern would let them pass as amounts. */
export const BaseUnits = z.string().regex(/^\d{1,18}$/, 'digits only, in base units of the token')

export const PaymentOption = z
  .strictObject({
    scheme: z.literal('exact'),
    /** CAIP-2. */
    network: z.string(),
    amount: BaseUnits,
    asset: z.string(),
    payTo: z.string(),
    maxTimeoutSeconds: z.number().int().positive(),
    extra: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'PaymentOption' })
export type PaymentOption = z.output<typeof PaymentOption>

/** The 402 of a top-up without a payment (brief §2.2). */
export const TopUpRequired = z
  .strictObject({ x402Version: z.literal(x402Version), accepts: answerListOf(PaymentOption) })
  .meta({ id: 'X402PaymentRequirements' })
export type TopUpRequired = z.output<typeof TopUpRequired>

/** EIP-3009, with every number as decimal text. */
export const EvmAuthorization = z.strictObject({
  from: z.string(),
  to: z.string(),
  value: z.string(),
  validAfter: z.string(),
  validBefore: z.string(),
  nonce: z.string(),
})
export type EvmAuthorization = z.output<typeof EvmAuthorization>

/** Exactly these two members: with another one, a stock facilitator may route the payment elsewhere. */
export const EvmPayload = z.strictObject({ signature: z.string(), authorization: EvmAuthorization })
export type EvmPayload = z.output<typeof EvmPayload>

/** A partially signed transaction, base64. */
export const SolanaPayload = z.strictObject({ transaction: z.string() })

/** Header `PAYMENT-SIGNATURE`, decoded. */
export const PaymentPayload = z.object({
  x402Version: z.literal(x402Version),
  resource: z.unknown().optional(),
  accepted: z.object({
    scheme: z.string(),
    network: z.string(),
    amount: z.string(),
    asset: z.string(),
    payTo: z.string(),
    maxTimeoutSeconds: z.number().optional(),
    extra: z.record(z.string(), z.unknown()).nullish(),
  }),
  payload: z.record(z.string(), z.unknown()),
  extensions: z.record(z.string(), z.unknown()).optional(),
})
export type PaymentPayload = z.output<typeof PaymentPayload>

/** The form of older clients: no `accepted`, a bare network name; the amount is the authorization's value. */
export const FlatPaymentPayload = z.object({
  x402Version: z.literal(x402Version),
  scheme: z.string(),
  network: z.string(),
  payload: z.record(z.string(), z.unknown()),
})
export type FlatPaymentPayload = z.output<typeof FlatPaymentPayload>

/** Header `PAYMENT-RESPONSE`, decoded. */
export const SettlementResponse = z.strictObject({
  success: z.boolean(),
  network: z.string(),
  payer: z.string(),
  transaction: z.string(),
})
export type SettlementResponse = z.output<typeof SettlementResponse>

export const WalletAddress = z
  .string()
  .regex(/^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, 'an EVM address (0x…) or a Solana address (base58)')

/** The answers of facilitators of x402 version 2. Other members are ignored. */

const Word = z.string().nullish()

export const FacilitatorVerdict = z.object({ isValid: z.boolean(), invalidReason: Word })
export const FacilitatorSettlement = z.object({ success: z.boolean(), errorReason: Word, transaction: Word })

const Kind = z.object({
  x402Version: z.number(),
  scheme: z.string(),
  network: z.string(),
  extra: z.record(z.string(), z.unknown()).nullish(),
})
const Supported = z.object({
  kinds: z.array(z.unknown()),
  /** Accounts by network, or by the family of networks, such as `solana:*`. */
  signers: z.record(z.string(), z.array(z.string())).catch({}),
})

export type FacilitatorKind = z.output<typeof Kind> & {
  /** The accounts that it pays fees from, if it lists them; `extra.feePayer` may be another of them each time. */
  signers: readonly string[]
}

/**
 * Returns the networks that it settles with the scheme `exact`, and skips kinds in any other form. Null if the answer
 * is not a list.
 */
export function facilitatorKinds(body: unknown): FacilitatorKind[] | null {
  const parsed = Supported.safeParse(body)
  if (!parsed.success) return null
  const { kinds, signers } = parsed.data
  return kinds
    .map(kind => Kind.safeParse(kind))
    .flatMap(kind => (kind.success ? [kind.data] : []))
    .filter(kind => kind.x402Version === x402Version && kind.scheme === 'exact')
    .map(kind => ({ ...kind, signers: [kind.network, familyOf(kind.network)].flatMap(name => ownOf(signers, name)) }))
}

const familyOf = (network: string): string => `${network.split(':')[0]}:*`

const ownOf = (signers: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] =>
  Object.hasOwn(signers, name) ? (signers[name] ?? []) : []

/** Whether a facilitator pays fees on a kind's network from this account. */
export const paysFrom = ({ extra, signers }: FacilitatorKind, account: unknown): boolean =>
  extra?.feePayer === account || signers.some(signer => signer === account)
