import { z } from 'zod'
import { CodedError, DetailedError, KeyLimitReached, PayloadTooLarge, SignInError, StandardError } from './failures.ts'
import { DiscoveryRequired, WalletCreditRequired } from './payment-required.ts'

/** What every operation that costs a caller credit may answer beside its 200; each adds what is its own. */
export const paidFailures = {
  400: z.union([DetailedError, CodedError]),
  401: z.union([StandardError, SignInError]),
  402: z.union([StandardError, KeyLimitReached, DiscoveryRequired, WalletCreditRequired]),
  403: StandardError,
  404: StandardError,
  413: PayloadTooLarge,
  429: z.union([StandardError, CodedError]),
  /** With a code where nobody knows whether the call was charged. */
  500: z.union([StandardError, CodedError]),
  503: StandardError,
} as const

/** The same for operations of a model: one that was removed is gone. */
export const paidModelFailures = { ...paidFailures, 410: StandardError } as const
