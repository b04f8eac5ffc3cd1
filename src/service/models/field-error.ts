import { invalidRequest } from '#contract/errors.ts'
import type { ServiceError } from '#contract/service-error.ts'

/** A 400 that names one field and what it may be, nested under `details` and flat under `issues`. */
export function fieldError(
  path: readonly (string | number)[],
  message: string,
  error = 'Invalid request parameters',
): ServiceError {
  const details = path.reduceRight<Record<string, unknown>>((inner, name) => ({ [name]: inner }), {
    _errors: [message],
  })
  return invalidRequest({
    error,
    details: { _errors: [], ...details },
    issues: [{ code: 'custom', path: [...path], message }],
  })
}
