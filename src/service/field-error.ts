import { invalidRequest } from '#contract/errors.ts'
import type { ServiceError } from '#contract/service-error.ts'

type Path = readonly (string | number)[]

/** A 400 that names one field and what it may be. */
export const fieldError = (path: Path, message: string, error = 'Invalid request parameters'): ServiceError =>
  invalidRequest({ error, ...fieldDetails(path, message) })

/** What an answer says of one field: nested under `details`, flat under `issues`. */
export function fieldDetails(path: Path, message: string) {
  const details = path.reduceRight<Record<string, unknown>>((inner, name) => ({ [name]: inner }), {
    _errors: [message],
  })
  return { details: { _errors: [], ...details }, issues: [{ code: 'custom', path: [...path], message }] }
}
