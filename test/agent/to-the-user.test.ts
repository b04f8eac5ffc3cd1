/** Advice to an assistant, reworded for a user who calls the tool in a terminal. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toTheUser } from '#agent/words/to-the-user.ts'

const root = join(import.meta.dirname, '..', '..')

test.each([
  ['Ask the user to check FAREBOX_BASE_URL.', 'Check FAREBOX_BASE_URL.'],
  [
    'Ask the user to run `farebox wallet create --service http://127.0.0.1:1/api/v1` in a terminal, then repeat the call; or to set FAREBOX_API_KEY, then restart farebox.',
    'Run `farebox wallet create --service http://127.0.0.1:1/api/v1` in a terminal, then repeat the call; or set FAREBOX_API_KEY, then try again.',
  ],
  [
    'Ask the user to set FAREBOX_API_KEY to a key of this service or, if other calls fail too, to check the clock.',
    'Set FAREBOX_API_KEY to a key of this service or, if other calls fail too, check the clock.',
  ],
  [
    'Try again; if it fails again, ask the user to check FAREBOX_BASE_URL.',
    'Try again; if it fails again, check FAREBOX_BASE_URL.',
  ],
  [
    'The payment waits. The user can run `farebox wallet start`.',
    'The payment waits. You can run `farebox wallet start`.',
  ],
  ['The user was asked and did not answer in time.', 'You were asked and did not answer in time.'],
  ['A call above 1.00 USD needs the user’s approval.', 'A call above 1.00 USD needs your approval.'],
  ['Approved. The assistant can continue: the approval is valid.', 'Approved. The approval is valid.'],
  ['Models are a, b; models_find lists them all.', 'Models are a, b; models_find lists them all.'],
])('%s', (said, told) => expect(toTheUser(said)).toBe(told))

/** The sentences of ours that name the user, wherever a call in a terminal can print them. */
const sentences = globSync(['src/{agent,wallet,toolkit}/**/*.ts', 'tools/*.ts'], { cwd: root })
  .filter(path => !/generated|wallet-page|loopback/.test(path))
  .flatMap(path => readFileSync(join(root, path), 'utf8').split('\n'))
  .filter(line => !/^\s*(\/?\*|\/\/)/.test(line))
  .flatMap(line => [...line.matchAll(/'([^']*\buser\b[^']*)'|`((?:[^`\\]|\\.)*\buser\b(?:[^`\\]|\\.)*)`/g)])
  .map(([, plain, template]) => plain ?? template ?? '')
  .filter(sentence => /\bthe user\b/i.test(sentence))

test('no sentence speaks of the user to the user', () => {
  expect(sentences.length).toBeGreaterThan(30)
  for (const sentence of sentences) {
    const told = toTheUser(sentence)
    expect(told).not.toMatch(/\bthe user\b|\byou (has|was|unsets|denies)\b|\btheir\b/i)
    // A request that lost its beginning goes on as one.
    expect(told, sentence).not.toMatch(/(; or|, or|, then|, and) to [a-z]/)
    if (/^Ask the user to [a-z]/.test(sentence)) expect(told).toMatch(/^[A-Z]/)
  }
})
