import { invalidRequest } from '#contract/errors.ts'
import type { ServiceError } from '#contract/service-error.ts'

type Path = readonly (string | number)[]

/** A 400 that names one field and what it may be; without a field it is about the whole body. */
export const fieldError = (path: Path, message: string, error = 'Invalid request parameters'): ServiceError =>
  invalidRequest({ error, ...fieldDetails(path, message) })

interface Level {
  _errors: string[]
  [name: string]: unknown
}

/** What an answer says of one field: nested under `details`, each level with its `_errors`, and flat under `issues`. */
export function fieldDetails(path: Path, message: string) {
  // A caller's own member of this name would stand where the sentences are.
  const names = path.filter(name => name !== '_errors')
  const details = names.reduceRight<Level>((inner, name) => ({ _errors: [], [name]: inner }), { _errors: [message] })
  return { details, issues: [{ code: 'custom', path: [...path], message }] }
}
