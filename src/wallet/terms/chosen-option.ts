import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Payee } from './payee.ts'

/** The offer of a service that is paid. */
export interface ChosenOption {
  option: PaymentOption
  payee: Payee
  /** Whether configuration or a person has agreed to this payee. */
  isKnownPayee: boolean
  /** Of EIP-712, on an EVM chain. */
  tokenName: string
  tokenVersion: string
}
