import type { ServiceError } from '#contract/errors/service-error.ts'

/** Whether an answer 402 is one that credit mends: not one that did not know the caller, nor one of the top-up itself. */
export const wantsCredit = ({ status, kind }: ServiceError): boolean =>
  status === 402 && (kind === 'PAYMENT_REQUIRED' || kind === 'INSUFFICIENT_BALANCE')
