/** What a terminal obeys or hides beyond what JSON escapes: control characters and those that turn the direction of text. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Amounts are texts of micro-USD, as JSON has no integers of that size. A stranger's text says the same to whoever parses
 * it, and nothing to the terminal that shows it.
 */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member)).replace(
    obeyed,
    escaped,
  )

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  }).join('')
