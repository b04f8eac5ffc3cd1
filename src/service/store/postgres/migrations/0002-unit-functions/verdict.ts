/** What applying one operation answers: why it was refused, or the balance that it left and how many entries it wrote. */
export const verdict = 'CREATE TYPE verdict AS (why text, account text, posted bigint, held bigint, entries int)'
