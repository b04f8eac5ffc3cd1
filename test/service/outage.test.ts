/** A ledger outage: what callers get, and what is logged. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { topUp } from '#contract/operations/wallet.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import type { Log } from '#host/log.ts'
import { StoreError, type StoreFailure } from '#ledger/store/store.ts'
import { failedAnswer } from '#service/http/failed-answer.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { type OpenService, openService } from '#service/running/open-service.ts'
import { OutageLog } from '#service/running/outage-log.ts'
import { canarySecret } from '../canary/canaries.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type Line = [level: 'info' | 'warn' | 'error', message: string, facts: object]

function recorded(): { log: Log; lines: Line[] } {
  const lines: Line[] = []
  const at = (level: Line[0]) => (facts: object, message: string) => {
    if (message !== 'A request ended.') lines.push([level, message, facts])
  }
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error') } }
}

const gone = 'The ledger cannot be reached; calls wait or are refused until it can.'
const back = 'The ledger can be reached again.'
const still = 'The ledger still cannot be reached.'

async function opened(database?: string) {
  const folder = temporaryFolder('outage')
  const { log, lines } = recorded()
  const video = new DemoVideo({ workFolder: join(folder, 'engines') })
  const service = await openService({
    publicUrl: 'http://127.0.0.1',
    folder,
    ...(database ? { database } : {}),
    secrets: [canarySecret],
    models: demoModels({ chat: new DemoChat({ pause: async () => undefined }), video }),
    log,
  })
  const close = async () => {
    await service.close()
  }
  return { folder, service, lines, close, ...(await service.createKey({ usd: '1' })) }
}

const limits = (service: OpenService, key: string) =>
  service.fetch(
    new Request('http://127.0.0.1/api/v1/api_keys/rate_limits', { headers: { authorization: `Bearer ${key}` } }),
  )

const chat = (service: OpenService, key: string) =>
  service.fetch(
    new Request('http://127.0.0.1/api/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 }),
    }),
  )

async function expectComeAgain(response: Response): Promise<void> {
  expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
    ...[503, '5'],
    { error: 'The ledger of this service cannot be reached at the moment. Please try again in a few seconds.' },
  ])
}

// Most of their time they wait for what a store waits, so they do it side by side.
describe.concurrent('a ledger that does not answer', () => {
  test('a SQLite file that takes no writes: paid calls are told to try again in a moment, records go on, and two lines tell of it', async () => {
    const { folder, service, key, lines, close } = await opened()
    const other = new DatabaseSync(join(folder, 'farebox.db'))
    other.exec('BEGIN IMMEDIATE')
    try {
      // More than what blocks a caller who fails by its own fault.
      const answers = await Promise.all(Array.from({ length: 25 }, () => chat(service, key)))
      for (const answer of answers) await expectComeAgain(answer)
      expect((await limits(service, key)).status).toBe(200)
    } finally {
      other.exec('ROLLBACK')
      other.close()
    }
    await vi.waitFor(() => expect(lines.at(-1)?.[1]).toBe(back), { timeout: 60_000 })
    expect((await chat(service, key)).status).toBe(200)
    await close()
    expect(lines).toEqual([
      ['error', gone, { reason: expect.stringContaining('locked') }],
      ['warn', back, { forSeconds: expect.any(Number), failures: expect.any(Number) }],
    ])
  }, 120_000)

  withPostgres('a PostgreSQL server that is gone', cluster => {
    test('reads and paid calls get a short Retry-After, and two log lines report it', async () => {
      const { service, key, lines, close } = await opened(cluster().url)
      await cluster().kill()
      let isAnswered = false
      const asked = Promise.all([limits(service, key), chat(service, key), chat(service, key)])
      void asked.then(() => {
        isAnswered = true
      })
      await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000 })
      // Told while calls still wait for it, and not once they give up.
      expect(isAnswered).toBe(false)
      const answers = await asked
      for (const answer of answers) await expectComeAgain(answer)
      await expect(service.createKey({ usd: '1' })).rejects.toThrow('The database cannot be read; try again later.')
      await cluster().run()
      await vi.waitFor(() => expect(lines.at(-1)?.[1]).toBe(back), { timeout: 60_000 })
      expect((await chat(service, key)).status).toBe(200)
      await close()
      // A server that takes a minute and more to come back is told of in between.
      expect(lines.filter(([, message]) => message !== still)).toEqual([
        ['error', gone, { reason: expect.stringMatching(/ECONNREFUSED|terminated|closed/) }],
        ['warn', back, { forSeconds: expect.any(Number), failures: expect.any(Number) }],
      ])
    }, 240_000)
  })
})

describe('the log of an outage', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('is one line when the ledger becomes unreachable, one a minute meanwhile, and one when it is back', async () => {
    const { log, lines } = recorded()
    let isAway = true
    const commit = async () => {
      if (isAway) throw new StoreError('unreachable', 'away')
      return []
    }
    const outage = new OutageLog({ store: { commit }, clock: { now: () => Date.now() }, log })
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:5432')
    for (let second = 0; second < 150; second++) {
      outage.error({ err: new StoreError('unreachable', 'The database cannot be read.', { cause }) }, 'A call failed.')
      outage.warn({ err: new Error('something else') }, 'Another thing went on.')
      await vi.advanceTimersByTimeAsync(1_000)
    }
    isAway = false
    await vi.advanceTimersByTimeAsync(5_000)
    outage.error({ err: new Error('a bug') }, 'Something else failed.')
    const told = lines.filter(([, message]) => message !== 'Another thing went on.')
    expect(told.map(([level, message]) => [level, message])).toEqual([
      ['error', gone],
      ['error', still],
      ['error', still],
      ['warn', back],
      ['error', 'Something else failed.'],
    ])
    expect(lines.filter(([, message]) => message === 'Another thing went on.')).toHaveLength(150)
    expect(told[0]?.[2]).toEqual({ reason: 'connect ECONNREFUSED 127.0.0.1:5432' })
    expect(told[3]?.[2]).toEqual({
      forSeconds: expect.toSatisfy(seconds => seconds >= 150 && seconds < 154),
      failures: 150,
    })
  })
})

test('an outage that is told while calls still wait for it has begun when the first of them did', async () => {
  vi.useFakeTimers()
  const { log, lines } = recorded()
  let isAway = true
  const commit = async () => {
    if (isAway) throw new StoreError('unreachable', 'away')
    return []
  }
  const outage = new OutageLog({ store: { commit }, clock: { now: () => Date.now() }, log })
  for (let second = 2; second <= 24; second++) {
    outage.noticed(new Error('connect ECONNREFUSED 127.0.0.1:5432'), second * 1_000)
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(lines).toEqual([['error', gone, { reason: 'connect ECONNREFUSED 127.0.0.1:5432' }]])
  isAway = false
  await vi.advanceTimersByTimeAsync(2_000)
  expect(lines.slice(1)).toEqual([
    ['warn', back, { forSeconds: expect.toSatisfy(seconds => seconds >= 25 && seconds <= 27), failures: 0 }],
  ])
  vi.useRealTimers()
})

const sqliteError = (errcode: number) => Object.assign(new Error('of SQLite'), { code: 'ERR_SQLITE_ERROR', errcode })
const storeError = (kind: StoreFailure) => new StoreError(kind, 'of the store')

test.each([
  ['a database that is away', storeError('unreachable'), 503],
  ['a commit whose outcome is unknown', storeError('outcome_unknown'), 503],
  ['a queue that is full', storeError('queue_full'), 503],
  ['a writer that has ended', storeError('writer_dead'), 503],
  ['a unit that no store could apply', storeError('unit_failed'), 500],
  ['a rule that was broken', storeError('broken_rule'), 500],
  ['a read of a file that is locked', sqliteError(5), 503],
  ['a read from a disk that fails, extended code', sqliteError(10 | (1 << 8)), 503],
  ['a file that cannot be opened', sqliteError(14), 503],
  ['a statement that is wrong', sqliteError(1), 500],
  ['a bug', new Error('a bug'), 500],
])('%s is answered as it should', (_what, error, status) => {
  expect(failedAnswer(undefined, error).status).toBe(status)
  expect(failedAnswer(topUp, error).status).toBe(status)
})

test('a top-up during an outage of the ledger keeps its shape, and says to send the same payment', () => {
  const { body, headers, retry } = failedAnswer(topUp, storeError('unreachable'))
  expect([headers['retry-after'], retry, body]).toEqual([
    ...['5', 'same-payload'],
    { error: 'X402_TOP_UP_UNAVAILABLE', message: expect.stringContaining('Send the same payment again in 5 seconds.') },
  ])
})
