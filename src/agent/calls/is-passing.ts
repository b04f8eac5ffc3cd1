import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'

/** What another question may mend. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.kind === 'unreachable' || error.kind === 'no-answer'
    : error instanceof ServiceError && error.retry === 'later'
