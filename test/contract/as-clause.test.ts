import { expect, test } from 'vitest'
import { asClause, lowered } from '#contract/errors/as-clause.ts'

test.each([
  ['The node is down.', 'the node is down'],
  ['A chat with demo-chat', 'a chat with demo-chat'],
  ['It failed. Try again.', 'it failed. Try again'],
  ['5.00 USD more would exceed the cap.', '5.00 USD more would exceed the cap'],
  ['FAREBOX_API_KEY is not set.', 'FAREBOX_API_KEY is not set'],
  ['PostgreSQL does not answer.', 'PostgreSQL does not answer'],
  ['Solana does not answer.', 'Solana does not answer'],
  ['I know that.', 'I know that'],
])('%s', (sentence, clause) => {
  expect(asClause(sentence)).toBe(clause)
  expect(lowered(sentence).replace(/\.$/, '')).toBe(clause)
})
