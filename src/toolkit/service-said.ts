import { fromOutside } from './from-outside.ts'
import type { FailureFacts } from './tool-failure.ts'

/** The service's own words, framed as data from outside; undefined where it had none. */
export function serviceSaid({ said = '', refused = [] }: FailureFacts): string | undefined {
  const reasons = refused.flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const lines = [said, ...reasons].filter(line => line !== '')
  return lines.length === 0 ? undefined : fromOutside('what the service said', lines.join('\n'))
}

/** A failure as one text, for where it is written down: our sentences, then the service's words in their frame. */
export const failureAsText = (facts: FailureFacts): string =>
  [`${facts.happened} ${facts.next}`, serviceSaid(facts)].filter(Boolean).join('\n')

/** Such a text taken apart again: our sentences, and the service's words without their frame. */
export function failureFromText(text: string): Pick<FailureFacts, 'happened' | 'said'> {
  const [happened = '', ...framed] = text.split('\n')
  return framed.length > 2 ? { happened, said: framed.slice(1, -1).join('\n') } : { happened: text }
}
