import { fromOutside } from './from-outside.ts'
import type { FailureFacts } from './tool-failure.ts'

/** The service's own words, framed as data from outside; undefined where it had none. */
export function serviceSaid({ said = '', refused = [] }: FailureFacts): string | undefined {
  const reasons = refused.flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const lines = [said, ...reasons].filter(line => line !== '')
  return lines.length === 0 ? undefined : fromOutside('what the service said', lines.join('\n'))
}
