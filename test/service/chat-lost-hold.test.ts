/** A process that was paused for longer than a lease finds its hold ended by another process, and delivers nothing more for free. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { checkpointMs, checkpointTokens, holdLeaseMs, holdRenewalMs, renewalTickMs } from '#ledger/bounds.ts'
import { recoverHolds } from '#ledger/charges/recover-holds.ts'
import { mustCommit, nonce } from '../ledger/store/sample-ops.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture } from './chat-fixture.ts'
import { used } from './chat-script.ts'

let fixture: ChatFixture
let customer: Customer
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  fixture = await openFixture()
  customer = await fixture.customer(1)
})
afterEach(async () => {
  vi.useRealTimers()
  expect((await audit(fixture.service.database, { clock: fixture.service.clock })).findings).toEqual([])
  await fixture.service.close()
})

const some = (count: number) => Array.from({ length: count }, () => ({ text: ' paid' }))
const first = 20
/** So much is delivered before the next checkpoint has been written. */
const second = 2 * checkpointTokens

/** Lets the timers of the service run, and waits for what they commit. */
async function tick(place: string): Promise<void> {
  await vi.advanceTimersByTimeAsync(renewalTickMs)
  await mustCommit(fixture.service.store, nonce(place))
}

/** A stream of which some has been read, and whose hold a sibling has ended. It goes on when it is let. */
async function lostStream() {
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const gates = { one: { until: one.promise }, two: { until: two.promise } }
  fixture.engine.play([
    ...some(first),
    gates.one,
    ...some(second),
    gates.two,
    ...some(2_000),
    { usage: used(8, 2_532) },
  ])
  const answer = await fixture.chat(customer, { stream: true, max_tokens: 4_000 })
  const reader = answer.body?.getReader()
  let text = ''
  const read = async (events: number) => {
    for (let event = 0; event < events; event++) {
      const step = await reader?.read().catch(() => null)
      if (!step || step.done) break
      text += Buffer.from(step.value).toString()
    }
    return eventsOf(text)
  }
  await read(first)
  fixture.service.clock.pass(checkpointMs)
  await tick('the checkpoint')
  const later = { now: () => fixture.service.clock.now() + holdLeaseMs + 1 }
  expect(await recoverHolds(fixture.service.store, later)).toBe(1)
  return { read, one, two }
}

const delivered = (events: readonly string[]) => events.filter(event => event.includes('" paid"')).length

test('once a renewal finds the hold missing, the stream ends with an error and the engine stops', async () => {
  const { read, one } = await lostStream()
  fixture.service.clock.pass(holdRenewalMs)
  await tick('the renewal')
  one.resolve()
  const events = await read(10_000)
  expect([delivered(events), JSON.parse(events[first] ?? 'null')]).toMatchObject([
    first,
    { error: { type: 'server_error' }, choices: [{ finish_reason: 'error' }] },
  ])
  expect(events.slice(first + 1)).toEqual(['[DONE]'])
  expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
  expect(await fixture.openHolds()).toBe(0)
  expect((await fixture.ledger(customer.account)).units.at(-1)).toBe(BigInt(first))
})

test('at the latest a checkpoint tells it', async () => {
  const { read, one, two } = await lostStream()
  one.resolve()
  await read(second)
  await mustCommit(fixture.service.store, nonce('after the checkpoint'))
  two.resolve()
  const events = await read(10_000)
  expect([delivered(events), events.at(-2)]).toEqual([first + second, expect.stringContaining('"error"')])
})

test.each([true, false])(
  'a call without a checkpoint is charged anew, and the log tells (stream: %s)',
  async stream => {
    const gate = Promise.withResolvers<void>()
    fixture.engine.play([...some(first), { until: gate.promise }, { usage: used(8, first) }])
    const answer = fixture.chat(customer, { stream, max_tokens: 100 })
    await expect.poll(() => fixture.openHolds()).toBe(1)
    const later = { now: () => fixture.service.clock.now() + holdLeaseMs + 1 }
    expect(await recoverHolds(fixture.service.store, later)).toBe(1)
    gate.resolve()
    expect([(await answer).status, await (await answer).text()]).toEqual([200, expect.stringContaining(' paid')])
    expect(await fixture.ledger(customer.account)).toMatchObject({ charged: 8n + BigInt(first) * 10n, writtenOff: 0n })
    expect(fixture.service.logged).toEqual([
      {
        level: 'warn',
        facts: expect.objectContaining({ lostMicroUsd: '0' }),
        message: expect.stringContaining('hold'),
      },
    ])
  },
)
