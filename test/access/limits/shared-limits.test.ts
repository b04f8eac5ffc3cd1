import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { openSharedLimits, type SharedLimits } from '#access/limits/shared/shared-limits.ts'
import { SharedWindows, ValkeyWindows } from '#access/limits/shared/shared-windows.ts'
import { Breaker, Valkey } from '#access/limits/shared/valkey.ts'
import { Windows } from '#access/limits/windows.ts'
import { openService, TestClock } from '../../service/open-service.ts'
import { withValkey } from '../../valkey/with-valkey.ts'
import { isShared } from './is-shared.ts'
import { ManualClock, noonMs } from './manual-clock.ts'
import { limitStoreContract } from './store-contract.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

/** No time-out of a healthy server on a busy machine. */
const patientMs = 50_000
const dimension = { key: 'account:ada:text:m', type: 'user', requestsPerMinute: 40, tokensPerMinute: 4_000 } as const

/** Looks again until it is so; the test's own time-out ends it. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

withValkey('counts on a server', server => {
  let valkey: Valkey
  beforeAll(async () => {
    valkey = await Valkey.open({ url: server().url, onTrouble: () => {}, onReady: () => {} })
    await until(() => valkey.isReady)
  })
  afterAll(() => valkey.close())

  limitStoreContract(() => new ValkeyWindows(valkey, `test:{${randomUUID()}}:`), 10)
})

interface Process {
  limits: SharedLimits
  log: string[]
}

withValkey('processes of one service', server => {
  let clock: ManualClock
  let publicUrl: string
  const opened: SharedLimits[] = []
  beforeEach(() => {
    clock = new ManualClock(noonMs)
    publicUrl = `https://${randomUUID()}.example`
  })
  afterAll(() => {
    for (const each of opened) each.close()
  })

  async function process(limitMs = patientMs, url = server().url): Promise<Process> {
    const log: string[] = []
    const note = (_: object, message: string) => void log.push(message)
    const limits = await openSharedLimits({
      ...{ url, publicUrl, clock, limitMs },
      log: { info: note, warn: note, error: note },
    })
    opened.push(limits)
    return { limits, log }
  }

  /** Once its counts are those of the others. */
  async function joined(limitMs?: number): Promise<Process> {
    const one = await process(limitMs)
    await until(() => isShared(one.limits, clock.now()))
    return one
  }

  const admitted = async ({ limits }: Process, times: number, tokens = 0) => {
    const take = () => limits.windows.take([dimension], tokens, clock.now())
    const taken = await Promise.all(Array.from({ length: times }, take))
    return taken.filter(({ allowed }) => allowed).length
  }

  test('S6: 300 requests at once at three of them are the 40 of the limit', async () => {
    const all = [await joined(), await joined(), await joined()]
    const counts = await Promise.all(all.map(each => admitted(each, 100)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(40)
  })

  test('tokens that one reserved are corrected for all', async () => {
    const [one, other] = [await joined(), await joined()]
    const { reservation } = await one.limits.windows.take([dimension], 4_000, clock.now())
    expect(await admitted(other, 1, 1)).toBe(0)
    await one.limits.windows.correct(reservation, 1_000)
    expect(await admitted(other, 1, 3_000)).toBe(1)
  })

  test('§7.3: failures at two of them together block the caller at both', async () => {
    const [one, other] = [await joined(), await joined()]
    const failures = []
    for (let each = 0; each < 21; each++)
      failures.push(await (each % 2 ? one : other).limits.block.count('account:ada'))
    expect(failures.filter(began => began)).toHaveLength(1)
    await until(() => isBlocked(one, 'account:ada') && isBlocked(other, 'account:ada'))
    expect(isBlocked(other, 'account:bob')).toBe(false)
    const late = await joined()
    await until(() => isBlocked(late, 'account:ada'))
    clock.advance(30_001)
    expect([one, other, late].map(each => isBlocked(each, 'account:ada'))).toEqual([false, false, false])
  })

  test('a block that one of them lifts ends at both, and stays ended for one that joins', async () => {
    const [one, other] = [await joined(), await joined()]
    for (let each = 0; each < 21; each++) await one.limits.block.count('account:ada')
    await until(() => isBlocked(one, 'account:ada') && isBlocked(other, 'account:ada'))
    const untilMs = clock.now() + 30_000
    expect(other.limits.block.blocked()).toEqual([{ subject: 'account:ada', untilMs }])
    await other.limits.block.lift('account:ada')
    expect(isBlocked(other, 'account:ada')).toBe(false)
    await until(() => !isBlocked(one, 'account:ada'))
    expect([isBlocked(await joined(), 'account:ada'), one.limits.block.blocked()]).toEqual([false, []])
  })

  test('two services on one server count apart', async () => {
    const one = await joined()
    publicUrl = 'https://other.example'
    const other = await joined()
    expect([await admitted(one, 60), await admitted(other, 60)]).toEqual([40, 40])
  })
})

const isBlocked = ({ limits }: Process, subject: string): boolean => {
  try {
    limits.block.check(subject)
    return false
  } catch {
    return true
  }
}

withValkey('through the front door', server => {
  test('§7.3: an unidentified caller whose requests fail at both is blocked at both, with a Retry-After', async () => {
    const clock = new TestClock()
    const opening = () =>
      openSharedLimits({
        ...{ url: server().url, publicUrl: 'https://door.example', clock, limitMs: patientMs },
        log: { info() {}, warn() {}, error() {} },
      })
    const limits = [await opening(), await opening()] as const
    const services = [
      await openService({ clock, sharedLimits: limits[0] }),
      await openService({ clock, sharedLimits: limits[1] }),
    ] as const
    try {
      for (const each of limits) await until(() => isShared(each, clock.now()))
      const statusOf = async (at: 0 | 1) => (await services[at].request('/api/v1/nothing')).status
      for (let each = 0; each < 21; each++) expect(await statusOf(each % 2 ? 1 : 0)).toBe(404)
      await until(async () => (await statusOf(0)) === 429 && (await statusOf(1)) === 429)
      const refused = await services[1].request('/api/v1/nothing')
      expect(refused.headers.get('retry-after')).toBe('30')
    } finally {
      for (const each of services) await each.close()
      for (const each of limits) each.close()
    }
  })
})

withValkey('a server that is away', server => {
  test('each process keeps to its share, including earlier requests; then they share counts again', async () => {
    const clock = new ManualClock(noonMs)
    const log: string[] = []
    const note = (_: object, message: string) => void log.push(message)
    const limits = await openSharedLimits({
      ...{ url: server().url, publicUrl: 'https://away.example', clock, limitMs: patientMs },
      log: { info: note, warn: note, error: note },
    })
    const take = async (times: number) => {
      let count = 0
      for (let each = 0; each < times; each++)
        if ((await limits.windows.take([dimension], 0, clock.now())).allowed) count++
      return count
    }
    try {
      await until(() => isShared(limits, clock.now()))
      expect(await take(6)).toBe(6)
      await server().stop()
      await until(() => log.length > 0)
      // One process is known to share the limit, or four are assumed: 40 or 10 of a minute, 6 of which are gone.
      expect([4, 34]).toContain(await take(60))
      expect(log).toEqual([
        'The server for shared limits is unreachable; until it is back, each process applies its share of the limits.',
      ])
      await server().run()
      await until(() => log.at(-1) === 'The server for shared limits is reachable again.')
      clock.advance(2_000)
      expect(await take(60), 'the new server has counted nothing of this minute').toBe(40)
    } finally {
      limits.close()
    }
  })

  test('a server that does not answer delays one request a second, by the bound', async () => {
    const clock = new ManualClock(noonMs)
    const valkey = await Valkey.open({ url: server().url, onTrouble: () => {}, onReady: () => {} })
    try {
      await until(() => valkey.isReady)
      let asked = 0
      let told = 0
      const breaker = new Breaker({ clock, isReady: () => valkey.isReady, limitMs: 20, onLate: () => told++ })
      const counted = {
        take: (...given: Parameters<ValkeyWindows['take']>) => {
          asked++
          return new ValkeyWindows(valkey, 'stalled:{a}:').take(...given)
        },
        correct: async () => {},
        read: (...given: Parameters<ValkeyWindows['read']>) => new ValkeyWindows(valkey, 'stalled:{a}:').read(...given),
      }
      const windows = new SharedWindows(counted, breaker)
      server().pause()
      for (let each = 0; each < 5; each++) expect((await windows.take([dimension], 0, clock.now())).allowed).toBe(true)
      expect(asked).toBe(1)
      clock.advance(1_000)
      await windows.take([dimension], 0, clock.now())
      expect([asked, told]).toEqual([2, 0])
      for (let each = 0; each < 9; each++) {
        clock.advance(1_000)
        await Promise.all([1, 2, 3].map(() => windows.take([dimension], 0, clock.now())))
      }
      expect(told).toBe(2)
    } finally {
      server().goOn()
      valkey.close()
    }
  })
})

test.each([
  [1, 40],
  [3, 13],
  [100, 1],
])('of %i processes each lets %i of 40 requests in while counts are not shared', async (processes, part) => {
  const windows = new SharedWindows(new Windows(), { ask: async () => null })
  windows.processes = processes
  const taken = await Promise.all(Array.from({ length: 60 }, () => windows.take([dimension], 0, noonMs)))
  expect(taken.filter(({ allowed }) => allowed)).toHaveLength(part)
  const none = { key: 'none', type: 'user', requestsPerMinute: 0 } as const
  expect((await windows.take([none], 0, noonMs)).allowed).toBe(false)
})

describe('an invalid address', () => {
  test.each(['http://127.0.0.1', 'redis', 'redis://:secret@[bad'])('%s is reported without repeating it', async url => {
    const opening = Valkey.open({ url, onTrouble: () => {}, onReady: () => {} })
    const error = await opening.then(valkey => valkey.close()).catch(caught => caught)
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(/redis:\/\/HOST:PORT/)
    expect(error.message).not.toContain('secret')
  })
})
