import { expect, test } from 'vitest'
import { liveness, readiness } from '#service/probes.ts'

const open = { state: async () => ({ state: 'open', reason: '' }) as const }
const readOnly = { state: async () => ({ state: 'read_only', reason: 'a test' }) as const }
const silent = { state: () => new Promise<never>(() => undefined) }
const broken = { state: () => Promise.reject(new Error('the connection was lost')) }
const noAnswer = 'The database does not answer.'

test.each([
  ['books that are open', open, { status: 'ok', ledger: 'open' }],
  ['read-only books, because a restart would not mend them', readOnly, { status: 'ok', ledger: 'read_only' }],
  ['a database that is silent', silent, { status: 'ok', ledger: 'unknown' }],
  ['a database that is gone', broken, { status: 'ok', ledger: 'unknown' }],
])('a process lives with %s', async (_rule, books, body) => {
  expect(await liveness(books, 20)).toEqual({ status: 200, body })
})

test.each([
  ['open books make it ready', open, 200, { status: 'ready', ledger: 'open' }],
  ['read-only ones do not', readOnly, 503, { status: 'not ready', ledger: 'read_only', reason: 'a test' }],
  ['nor a silent database', silent, 503, { status: 'not ready', ledger: 'unknown', reason: noAnswer }],
  ['nor one that is gone', broken, 503, { status: 'not ready', ledger: 'unknown', reason: noAnswer }],
])('%s', async (_rule, books, status, body) => {
  expect(await readiness(books, 20)).toEqual({ status, body })
})
