import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server'
import { type FormValues, isNeeded, type PersonForm, withFilled } from '#toolkit/define.ts'
import { canAsk, formAnswer } from './elicitation.ts'

interface Filling {
  given: unknown
  /** What the person filled in at an earlier question of the same call. */
  before: FormValues | undefined
  context: ServerContext
  declared: ClientCapabilities | undefined
}

export type Filled =
  | { kind: 'given'; given: unknown; filled?: FormValues }
  | { kind: 'fills'; form: PersonForm }
  | { kind: 'unfilled' }

/**
 * The arguments that a call is run with. What only the person knows is asked from them; the form's answer counts
 * without a signed state too, because it decides nothing that an argument of the client's could not.
 */
export function fillIn(form: PersonForm | undefined, { given, before, context, declared }: Filling): Filled {
  if (!form || !isRecord(given)) return { kind: 'given', given }
  const answer = formAnswer(form, context)
  if (answer === 'left') return { kind: 'unfilled' }
  const filled = answer ?? before
  if (filled) return { kind: 'given', given: withFilled(given, form, filled), filled }
  if (!isNeeded(form, given) || !canAsk(context, declared)) return { kind: 'given', given }
  return { kind: 'fills', form }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
