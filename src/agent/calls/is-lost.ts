import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isUnknownCharge } from '../words/explain.ts'

/** Whether the service may have done and charged what was asked for. */
export const isLost = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.wasSent && error.kind !== 'redirected'
    : error instanceof ServiceError && isUnknownCharge(error)
