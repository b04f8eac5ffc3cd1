import { fieldError } from '#contract/errors/issues.ts'
import type { Carries } from '#engines/ports/carried-choices.ts'

interface Carrier<Choice extends string> {
  id: string
  engine: { carries: Carries<Choice> }
}

/** What a request leaves out, or says without asking for anything. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

/**
 * Every choice of a request must reach what makes the result. Leave schema defaults out of `chosen`: nobody chose those.
 * Throws `invalidRequest` with the first field that would be dropped.
 */
export function requireCarried<Choice extends string>(
  { id, engine }: Carrier<Choice>,
  chosen: Readonly<Partial<Record<Choice, unknown>>>,
): void {
  for (const [name, value] of Object.entries(chosen)) {
    if (isNothing(value) || engine.carries(name as Choice, value)) continue
    throw fieldError([name], `${id} ${refusal(name, value)}; leave it out or choose another model`)
  }
}

/** Short values are shown: another one may be carried. */
function refusal(name: string, value: unknown): string {
  const isShown =
    (typeof value === 'string' && value.length <= 32 && !/^(data|https?):/i.test(value)) || isNumber(value)
  return isShown ? `cannot use ${JSON.stringify(value)} as ${name}` : `cannot use ${name}`
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean'
