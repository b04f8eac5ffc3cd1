import { expect, test } from 'vitest'
import { zeroUsd } from '#contract/money.ts'
import { failureAsText, failureFromText, serviceSaid } from '#toolkit/tool-failure.ts'

const facts = { happened: 'It was refused.', charged: zeroUsd, next: 'Change it.' }

test.each([
  ['a sentence', { said: 'No.' }],
  ['a sentence and a reason', { said: 'No.', refused: [{ name: 'source', reason: 'is far away' }] }],
  ['marks of a frame', { said: '>>> end of it' }],
])('%s is written down with its frame, and has one frame again when it is told', (_what, words) => {
  const written = failureAsText({ ...facts, ...words })
  expect(written.split('\n')[0]).toBe('It was refused. Change it.')
  const told = { ...facts, ...failureFromText(written) }
  expect(told.happened).toBe('It was refused. Change it.')
  expect(serviceSaid(told)).toBe(serviceSaid({ ...facts, ...words }))
})

test('a failure without words of the service is our sentences alone', () => {
  expect(failureAsText(facts)).toBe('It was refused. Change it.')
  expect(failureFromText('It was refused. Change it.')).toEqual({ happened: 'It was refused. Change it.' })
  expect(serviceSaid(facts)).toBeUndefined()
})
