import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Store, StoreError } from '#ledger/store/store.ts'
import { Probes, probeWriteEveryMs } from '#service/http/operator-routes.ts'
import { TestClock } from './open-service.ts'

const open = { state: async () => ({ state: 'open', reason: '' }) as const }
const readOnly = { state: async () => ({ state: 'read_only', reason: 'a test' }) as const }
const silent = { state: () => new Promise<never>(() => undefined) }
const broken = { state: () => Promise.reject(new Error('the connection was lost')) }
const noAnswer = 'The database does not answer.'

/** Waits 20 ms for each answer. */
function probesOf(ledger: typeof open | typeof readOnly | typeof silent | typeof broken, commit = async () => []) {
  const clock = new TestClock()
  const store = { commit } as unknown as Store
  const settings = { mediaFolder: join(tmpdir(), 'media') }
  return { probes: new Probes({ ledger, store, clock, settings }, 20), clock }
}

test.each([
  ['a ledger that is open', open, { status: 'ok', ledger: 'open' }],
  ['a read-only ledger, because a restart would not fix it', readOnly, { status: 'ok', ledger: 'read_only' }],
  ['a database that is silent', silent, { status: 'ok', ledger: 'unknown' }],
  ['a database that is gone', broken, { status: 'ok', ledger: 'unknown' }],
])('a process lives with %s', async (_rule, ledger, body) => {
  expect(await probesOf(ledger).probes.liveness()).toEqual({ status: 200, body })
})

test.each([
  ['an open ledger makes it ready', open, 200, { status: 'ready', ledger: 'open' }],
  ['a read-only one does not', readOnly, 503, { status: 'not ready', ledger: 'read_only', reason: 'a test' }],
  ['nor a silent database', silent, 503, { status: 'not ready', ledger: 'unknown', reason: noAnswer }],
  ['nor one that is gone', broken, 503, { status: 'not ready', ledger: 'unknown', reason: noAnswer }],
])('%s', async (_rule, ledger, status, body) => {
  expect(await probesOf(ledger).probes.readiness()).toEqual({ status, body })
})

const isFull = new StoreError('unreachable', 'The disk is full.')
test.each([
  ['refuses writes, as on a full or read-only disk', () => Promise.reject(isFull), 'The database accepts no writes.'],
  ['does not answer a write', () => new Promise<never>(() => undefined), 'The database does not answer a write.'],
])('a database that can be read and %s is not ready', async (_rule, commit, reason) => {
  const { probes } = probesOf(open, commit)
  expect(await probes.readiness()).toEqual({ status: 503, body: { status: 'not ready', ledger: 'open', reason } })
})

test('probers share one write a second, and see the database take writes again', async () => {
  let writes = 0
  let full = true
  const { probes, clock } = probesOf(open, () => {
    writes++
    return full ? Promise.reject(isFull) : Promise.resolve([])
  })
  const statuses = async () => (await Promise.all([probes.readiness(), probes.readiness()])).map(({ status }) => status)
  expect([await statuses(), await statuses(), writes]).toEqual([[503, 503], [503, 503], 1])
  full = false
  clock.pass(probeWriteEveryMs)
  expect([await statuses(), writes]).toEqual([[200, 200], 2])
})
