/** What an installing client leaves where a person gave no answer, instead of nothing. */
const unanswered = /^\$\{user_config\.[^{}]*\}$/

/** What a printed configuration says in the place of a key, for clients that fill in nothing. */
export const notWrittenIn = 'WRITE THE API KEY HERE, OR TAKE THIS LINE OUT'

/**
 * A variable that a client could not fill in, in the three spellings in which clients name one: it was to be handed through
 * from the client's own environment, and is not there.
 */
const isHandedThrough = (name: string, value: string): boolean =>
  [`\${${name}}`, `\${env:${name}}`, `$${name}`].includes(value)

/**
 * What was given without the values that say nothing: blank ones, and placeholders that nobody has filled in. Any other
 * text stays and is judged as it is, because a cap that is not read would be taken for one that holds.
 */
export function filledIn<Given extends Readonly<Record<string, unknown>>>(given: Given): Partial<Given> {
  const kept = Object.entries(given).filter(([name, value]) => typeof value !== 'string' || says(name, value.trim()))
  return Object.fromEntries(kept) as Partial<Given>
}

const says = (name: string, value: string): boolean =>
  value !== '' && value !== notWrittenIn && !unanswered.test(value) && !isHandedThrough(name, value)
