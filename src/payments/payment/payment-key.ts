import { createHash } from 'node:crypto'
import type { EvmAuthorization } from '#contract/wire/payment.ts'

/**
 * What a payment is known by, from decoded values alone: spelling, encoding and extra members do not make it another
 * one. The token lets a payer use a nonce once, whatever else the authorisation says.
 */
export const evmPaymentKey = (
  chainId: number,
  asset: string,
  { from, nonce }: Pick<EvmAuthorization, 'from' | 'nonce'>,
): string => ['evm', chainId, asset, from, nonce].join(':').toLowerCase()

/** The bytes that are signed, and no signature over them: the fee payer's place can be filled with anything by anyone. */
export const svmPaymentKey = (network: string, message: Uint8Array): string =>
  ['svm', network, createHash('sha256').update(message).digest('hex')].join(':')

const idCharacters = 32

/** The `paymentId` of an answer: stable for a payment, and tells nothing about it. */
export const paymentIdOf = (key: string): string =>
  `pay_${createHash('sha256').update(key).digest('hex').slice(0, idCharacters)}`
