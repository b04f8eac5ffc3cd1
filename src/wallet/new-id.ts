import { randomBytes } from 'node:crypto'

/** No letter that is taken for another when a person types it. */
const letters = '0123456789abcdefghjkmnpqrstvwxyz'
const idLetters = 16

/** Sixteen random letters, 80 bits, after a prefix that says what it names: `pay_…`, `ask_…`. */
export const newId = (prefix: string): string =>
  `${prefix}_${Array.from(randomBytes(idLetters), byte => letters[byte & 31]).join('')}`
