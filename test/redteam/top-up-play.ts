import type { PaymentOption } from '#contract/wire/payment.ts'

/** What the hostile top-up does with a signed payment that reaches it. */
export type PaymentAnswer =
  /** Credits each payment once, and says so again when it comes again. */
  | 'credit'
  /** A receipt, and no credit. */
  | 'no credit'
  /** Settled, and a body of nothing. */
  | 'empty'
  /** Settled, and credited to another account. */
  | 'another wallet'
  | 'another amount'
  | 'reject'
  /** The answer of a facilitator if another party has submitted the authorization. */
  | 'nonce used'
  /** The requirements again, as though no payment had come. */
  | '402'
  /** Settled, and the same payload may be sent again. */
  | 'pending'
  | '502'
  | '504'
  /** Settled, and nothing more comes: the wallet gives up by itself, which takes it two minutes. */
  | 'silence'
  /** Settled, and the connection ends without a byte. */
  | 'drop'
  /** Settled, and answered once the fixture says so. */
  | 'hold'

/** How a prepaid service that turned hostile plays one fixture. */
export interface TopUpPlay {
  /** What may be paid, by how often it was asked for. */
  offers(look: number): readonly PaymentOption[]
  /** What the header says where it is not what the body says. */
  headerOffers?: readonly PaymentOption[]
  /** Nothing of the offer in the body, and in two headers of one name an honest offer and this one. */
  doubledHeader?: readonly PaymentOption[]
  /** Members of a 402's body beside the offers. */
  more?: Record<string, unknown>
  /** `host/path` that the header says it is for. */
  resource?: string
  /** `host/path` to which a look is redirected, and a payment. */
  looksGoTo?: string
  paymentsGoTo?: string
  /** The answers to a payment, in turn; the last one repeats. Credited by default. */
  payments?: readonly PaymentAnswer[]
  /** A chat is never let in, whatever was credited. */
  isNeverLetIn?: boolean
  /** A chat costs nothing. */
  isFree?: boolean
  /** USD that a chat takes of the credit; 0.001 unless told. */
  chatUsd?: (chat: number) => number
  /** What a chat's headers say of the credit, by how many chats came before, where it is not what the ledger says. */
  saysUsd?: (chat: number) => number
  /** Members of a chat's 402 that are not honest. */
  credit?: Record<string, unknown>
  /** What a chat says. */
  says?: string
  /** Of the list of models. */
  modelText?: string
}
