import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import type { Op } from '#ledger/store/units.ts'
import { claimLeaseMs, claimRenewalMs } from '#service/http/idempotency/replayed-answer.ts'
import { used, words } from '../../chat-script.ts'
import { TestClock } from '../../open-service.ts'
import {
  type Ask,
  answerBeats,
  answerMicroUsd,
  charges,
  claims,
  closeAll,
  gate,
  holds,
  type KeyFixture,
  looksPass,
  openKeyFixture,
} from './key-fixture.ts'

let fixtures: KeyFixture[]
let first: KeyFixture
let bearer: string
const open = async (options: Parameters<typeof openKeyFixture>[0]) => {
  const fixture = await openKeyFixture(options)
  fixtures.push(fixture)
  return fixture
}
beforeEach(() => {
  fixtures = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  vi.useRealTimers()
  const alive = fixtures.find(fixture => !fixture.store.dead)
  await expect.poll(() => (alive ? holds(alive) : [])).toEqual([])
  expect((await audit(first.opened.database)).findings).toEqual([])
  await closeAll(fixtures)
})

const begin = async (soleOwner: boolean) => {
  first = await open({ soleOwner })
  bearer = await first.opened.key(10)
}

const claimTo = (ops: readonly Op[], to: string) => ops.some(op => op.op === 'claim' && op.to === to)
const has = (ops: readonly Op[], name: Op['op']) => ops.some(op => op.op === name)

/** Moments at which a process may die, and whether its work had been charged by then. */
const moments: [
  moment: string,
  side: 'before' | 'after',
  isMoment: (ops: readonly Op[]) => boolean,
  charged: boolean,
][] = [
  ['before the key is claimed', 'before', ops => claimTo(ops, 'running'), false],
  ['after the key is claimed', 'after', ops => claimTo(ops, 'running'), false],
  ['before the charge and the answer are written', 'before', ops => claimTo(ops, 'done'), false],
  ['after the charge and the answer are written', 'after', ops => claimTo(ops, 'done'), true],
]

const requests: [what: string, ask: Ask, price: bigint][] = [
  ['a whole answer', {}, answerMicroUsd],
  ['a stream', { body: { stream: true, stream_options: { include_usage: true } } }, answerMicroUsd],
  ['a video', { path: '/video/queue' }, 0n],
]

describe.each(requests)('a process that dies while it works on %s under a key', (_what, ask, price) => {
  const rows = [
    ...moments,
    ['after credit was held', 'after', (ops: readonly Op[]) => has(ops, 'hold'), false] as const,
  ]
  test.each(rows)('%s: the next one answers, charged once', async (_moment, side, isMoment) => {
    await begin(true)
    first.store.killAt = ops => (isMoment(ops) ? side : null)
    void first
      .ask(bearer, { key: 'one', ...ask })
      .then(response => response.text())
      .catch(() => 'cut')
    await expect.poll(() => first.store.dead).toBe(true)
    const second = await open({ beside: first })
    const answer = await second.ask(bearer, { key: 'one', ...ask })
    expect(answer.status).toBe(200)
    const text = await answer.text()
    expect(await (await second.ask(bearer, { key: 'one', ...ask })).text()).toBe(text)
    const charged = await charges(second)
    expect(charged).toHaveLength(1)
    if (price) expect(charged).toEqual([price])
    const jobs = await second.opened.store.read.selectFrom('job').select('id').execute()
    if (ask.path) expect(jobs.map(job => job.id)).toEqual([JSON.parse(text).queue_id])
    expect(await claims(second)).toHaveLength(1)
  })
})

test('a request that a dead process was charged for in part is worked on again for nothing', async () => {
  await begin(true)
  const { until } = gate()
  first.chat.play([...words('one '), { until }])
  const body = { stream: true, stream_options: { include_usage: true } }
  const response = await first.ask(bearer, { key: 'one', body })
  await response.body?.getReader().read()
  const [claim] = await claims(first)
  const hold = await first.opened.store.read.selectFrom('hold').selectAll().executeTakeFirstOrThrow()
  const line = { sku: 'chat.output', units: 1n, unitPricePicoUsd: 10_000_000n, amount: 10n as never }
  const lease = { owner: hold.lease_owner, untilMs: hold.lease_until_ms }
  const owed = { request: claim?.request ?? '', model: 'scripted', lines: [line] }
  await first.store.commit([{ id: `${hold.id}/owed`, ops: [{ op: 'renew', hold: hold.id, lease, owed }] }])
  first.store.dead = true
  const second = await open({ beside: first })
  expect(await charges(second)).toEqual([10n])
  const again = await (await second.ask(bearer, { key: 'one', body })).text()
  expect(again).toContain('three')
  expect(again).toContain('"cost":{"usd":0,')
  expect(await charges(second)).toEqual([10n])
})

describe('two processes on one store', () => {
  const whole = { key: 'one' }

  test('one works, the other answers 409, then both give the same', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    const { until, open: go } = gate()
    first.chat.play([{ until }, ...answerBeats])
    const answer = first.ask(bearer, whole)
    await expect.poll(() => first.chat.calls.length).toBe(1)
    expect((await second.ask(bearer, whole)).status).toBe(409)
    go()
    const text = await (await answer).text()
    expect(await (await second.ask(bearer, whole)).text()).toBe(text)
    expect(second.chat.calls).toEqual([])
  })

  test('a live lease of the other is waited for, a lapsed one is taken', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    first.store.killAt = ops => (has(ops, 'hold') ? 'after' : null)
    void first.ask(bearer, whole)
    await expect.poll(() => first.store.dead).toBe(true)
    expect((await second.ask(bearer, whole)).status).toBe(409)
    second.opened.clock.pass(claimLeaseMs + 1)
    expect((await second.ask(bearer, whole)).status).toBe(200)
    expect(await charges(second)).toEqual([answerMicroUsd])
    await looksPass(second)
    await expect.poll(() => holds(second)).toEqual([])
  })

  test('a lease that has lapsed only by a clock that jumped is waited for', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false, clock: new TestClock() })
    const { until, open: go } = gate()
    first.chat.play([{ until }, ...answerBeats])
    const answer = first.ask(bearer, whole)
    await expect.poll(() => first.chat.calls.length).toBe(1)
    second.opened.clock.pass(claimLeaseMs + 1)
    second.store.differenceMs = claimLeaseMs + 1
    expect((await second.ask(bearer, whole)).status).toBe(409)
    go()
    const text = await (await answer).text()
    expect(await (await second.ask(bearer, whole)).text()).toBe(text)
    expect(second.chat.calls).toEqual([])
  })

  test('nor does a jump of its own clock make a process take over from itself', async () => {
    await begin(false)
    const { until, open: go } = gate()
    first.chat.play([{ until }, ...answerBeats])
    const answer = first.ask(bearer, whole)
    await expect.poll(() => first.chat.calls.length).toBe(1)
    first.opened.clock.pass(claimLeaseMs + 1)
    expect((await first.ask(bearer, whole)).status).toBe(409)
    go()
    expect((await answer).status).toBe(200)
    expect([first.chat.calls.length, await charges(first)]).toEqual([1, [answerMicroUsd]])
  })

  test('one that was asleep too long gives the answer of the one that took over, and charges nothing', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    const { until, open: wake } = gate()
    first.chat.play([{ until }, { text: 'late' }, { usage: used(5, 1) }])
    const late = first.ask(bearer, whole)
    await expect.poll(() => first.chat.calls.length).toBe(1)
    first.opened.clock.pass(claimLeaseMs)
    const text = await (await second.ask(bearer, whole)).text()
    expect(text).toContain('three')
    wake()
    const answered = await late
    expect([answered.status, await answered.text()]).toEqual([200, text])
    expect(await charges(first)).toEqual([answerMicroUsd])
  })

  test('one that was asleep too long in the middle of a stream ends it without its end', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    const { until, open: wake } = gate()
    first.chat.play([...words('first '), { until }, { text: 'late' }, { usage: used(5, 2) }])
    const body = { stream: true }
    const late = await first.ask(bearer, { key: 'one', body })
    first.opened.clock.pass(claimLeaseMs)
    const text = await (await second.ask(bearer, { key: 'one', body })).text()
    wake()
    await expect(late.text()).rejects.toThrow()
    expect(await (await first.ask(bearer, { key: 'one', body })).text()).toBe(text)
    expect(await charges(first)).toEqual([answerMicroUsd])
  })

  test('one that was asleep too long accepts no second video', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    const { until, open: wake } = gate()
    const real = first.store.commit.bind(first.store)
    first.store.commit = async units => {
      if (units.some(unit => has(unit.ops, 'job') && has(unit.ops, 'capture'))) await until
      return real(units)
    }
    const late = first.ask(bearer, { key: 'one', path: '/video/queue' })
    await expect.poll(() => claims(second)).toHaveLength(1)
    await new Promise(resolve => setTimeout(resolve, 100))
    first.opened.clock.pass(claimLeaseMs)
    const text = await (await second.ask(bearer, { key: 'one', path: '/video/queue' })).text()
    wake()
    expect(await (await late).text()).toBe(text)
    expect(await second.opened.store.read.selectFrom('job').select('id').execute()).toHaveLength(1)
    expect(await charges(second)).toHaveLength(1)
  })

  test('work that lasts keeps its key', async () => {
    await begin(false)
    const second = await open({ beside: first, soleOwner: false })
    const { until, open: go } = gate()
    first.chat.play([{ until }, ...answerBeats])
    const answer = first.ask(bearer, whole)
    await expect.poll(() => first.chat.calls.length).toBe(1)
    for (let third = 0; third < 6; third++) {
      first.opened.clock.pass(claimLeaseMs / 3)
      await vi.advanceTimersByTimeAsync(claimRenewalMs)
      await expect
        .poll(async () => (await claims(first))[0]?.lease_until_ms)
        .toBeGreaterThan(first.opened.clock.now() + 1)
      expect((await second.ask(bearer, whole)).status).toBe(409)
    }
    go()
    expect((await answer).status).toBe(200)
  })
})
