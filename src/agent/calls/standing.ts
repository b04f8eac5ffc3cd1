import type { MicroUsd } from '#contract/money.ts'
import type { Claim } from './paid-call-rows.ts'

/** What is known of one call while it is made. */
export interface Standing {
  /** Only what became of it is wanted: nothing is paid for it or agreed to. */
  isOnlyAsked: boolean
  /** The service may have done and charged it. */
  mayBeCharged: boolean
  /** To send it again may be to pay for it twice, so a person has to agree. */
  mayBeSecond: boolean
  /** It was sent before, and no key with it. */
  wentWithoutKey: boolean
  /** JSON of the members that go along by a person's word. */
  consents: string | null
  /** The price up to which it needs nobody's word any more. */
  allowedMicroUsd: MicroUsd | null
}

export const standingAtStart = (claim: Claim, isOnlyAsked: boolean): Standing => ({
  isOnlyAsked,
  mayBeCharged: claim.kind === 'lost',
  mayBeSecond: false,
  wentWithoutKey: claim.kind === 'lost' && !claim.row.isKeyed,
  consents: null,
  allowedMicroUsd: null,
})

/** What is sent again under its key was allowed up to its price: nobody is asked twice for one purchase. */
export const isAllowedAt = ({ allowedMicroUsd }: Standing, price: MicroUsd | null): boolean =>
  price !== null && allowedMicroUsd !== null && price <= allowedMicroUsd
