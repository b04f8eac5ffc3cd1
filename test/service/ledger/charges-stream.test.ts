/** What a stream is charged, however it ends: complete, left, cut off, or never started. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { holdLeaseMs } from '#ledger/bounds.ts'
import { type Charges, streamWithCharge, withCharge } from '#ledger/charges/charges.ts'
import { linesOf } from '../../ledger/store/sample-ops.ts'
import { type ChargeFixture, openChargeFixture } from './charge-fixture.ts'

let fixture: ChargeFixture
beforeAll(async () => {
  fixture = await openChargeFixture()
})
afterAll(() => fixture.dispose())

/** Three events, of which each that was sent is owed 10. */
async function stream({ fails = false, reader = new AbortController() } = {}) {
  const principal = await fixture.customer(1_000n)
  const charges = fixture.charges()
  let sent = 0
  let left = 0
  async function* events() {
    for (const event of ['one', 'two', 'three']) {
      sent++
      yield event
      if (fails) throw new Error('The engine broke off.')
    }
  }
  const begin = () => ({ events: events(), owed: () => linesOf([BigInt(10 * sent)]), leave: () => void left++ })
  const opened = await streamWithCharge(charges, fixture.order(principal, 100n), reader.signal, begin)
  const ended = async () => {
    await charges.drain()
    return {
      ...{ entries: await fixture.entriesOf(principal.account), held: await fixture.held(principal.account) },
      ...{ left, open: charges.isOpen(opened.charge.holdId) },
    }
  }
  return { ...opened, charges, reader, ended }
}
const charged = (amount: number, left: number) => ({ entries: [`CHARGE ${amount}`], held: [], left, open: false })

describe('a stream', () => {
  test('that is read to its end is charged with what it came to', async () => {
    const { events, ended, charge, charges } = await stream()
    expect(charges.isOpen(charge.holdId)).toBe(true)
    const read: string[] = []
    for await (const event of events) read.push(event)
    expect([read, await ended()]).toEqual([['one', 'two', 'three'], charged(30, 0)])
  })

  test('that is left in the middle ends its work, and is charged with what was sent', async () => {
    const { events, ended } = await stream()
    for await (const event of events) if (event === 'two') break
    expect(await ended()).toEqual(charged(20, 1))
  })

  test('that breaks off is charged with what was sent, and its failure is told', async () => {
    const { events, ended } = await stream({ fails: true })
    await events.next()
    await expect(events.next()).rejects.toThrow('The engine broke off.')
    expect(await ended()).toEqual(charged(10, 0))
  })

  test('whose reader’s signal tells of its leaving is charged without another event', async () => {
    const { events, reader, ended } = await stream()
    await events.next()
    reader.abort()
    expect(await ended()).toEqual(charged(10, 1))
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  test('whose reader had left before it began frees its hold', async () => {
    const reader = new AbortController()
    reader.abort()
    const { ended } = await stream({ reader })
    expect(await ended()).toMatchObject({ held: [], left: 1, open: false })
  })

  test('that has ended is not told that it is left', async () => {
    const { events, ended } = await stream()
    for await (const _event of events);
    await events.return?.()
    expect(await ended()).toEqual(charged(30, 0))
  })

  test('that is stopped tells its reader why, once, and ends its work as if the reader had left', async () => {
    const { events, charge, ended } = await stream()
    await events.next()
    const why = new Error('The key has ended.')
    charge.stop(why)
    await expect(events.next()).rejects.toBe(why)
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(await ended()).toEqual(charged(10, 1))
  })

  test('that has ended no longer listens to its reader', async () => {
    const { events, reader, ended } = await stream()
    await events.return?.()
    reader.abort()
    expect(await ended()).toMatchObject({ left: 1 })
  })
})

describe('a stream that fails to say what it owes', () => {
  async function unsaid() {
    const principal = await fixture.customer(1_000n)
    const failures: unknown[] = []
    const charges = fixture.charges({ onFailure: error => failures.push(error) })
    const broken = new Error('It cannot be counted.')
    let isBroken = false
    const owed = () => {
      if (isBroken) throw broken
      return linesOf([20n])
    }
    async function* events() {
      yield 'one'
    }
    const begin = () => ({ events: events(), owed, leave: () => undefined })
    const never = new AbortController().signal
    const opened = await streamWithCharge(charges, fixture.order(principal, 100n), never, begin)
    fixture.clock.pass(2_000)
    await charges.renew()
    isBroken = true
    return { ...opened, charges, failures, broken, account: principal.account }
  }

  test('is renewed, and its checkpoint says what was owed last', async () => {
    const { charges, charge, failures, broken, account } = await unsaid()
    fixture.clock.pass(11_000)
    await charges.renew()
    await charge.checkpoint()
    expect([failures.length > 0, failures[0]]).toEqual([true, broken])
    expect(await fixture.held(account)).toMatchObject([
      { lease_until_ms: fixture.clock.now() + holdLeaseMs, amount: 100n },
    ])
    await charge.release()
  })

  test('ends with the charge of that', async () => {
    const { events, charges, charge, account } = await unsaid()
    await events.next()
    expect((await events.next()).done).toBe(true)
    await charges.drain()
    expect(charge.open).toBe(false)
    expect([await fixture.entriesOf(account), await fixture.held(account)]).toEqual([['CHARGE 20'], []])
  })
})

describe('a paid call', () => {
  const call = async (charges: Charges, run: () => Promise<bigint>) => {
    const principal = await fixture.customer(1_000n)
    const work = async () => ({ value: 'done', lines: linesOf([await run()]) })
    const result = await withCharge(charges, fixture.order(principal, 100n), work).catch((error: Error) => error)
    const after = [await fixture.entriesOf(principal.account), await fixture.held(principal.account)]
    return { result, after }
  }

  test('is charged with its lines, and answers its value', async () => {
    const { result, after } = await call(fixture.charges(), async () => 70n)
    expect(result).toMatchObject({ value: 'done', charged: { usd: 70n } })
    expect(after).toEqual([['CHARGE 70'], []])
  })

  test('that fails is free', async () => {
    const { result, after } = await call(fixture.charges(), () => Promise.reject(new Error('no')))
    expect([result, after]).toEqual([new Error('no'), [[], []]])
  })
})

describe('a service that stops', () => {
  test('waits for every charge that is open, and for none where none is', async () => {
    const charges = fixture.charges()
    await charges.drain()
    const principal = await fixture.customer(1_000n)
    const [one, other] = [
      await charges.open(fixture.order(principal, 10n)),
      await charges.open(fixture.order(principal, 10n)),
    ]
    let isDrained = false
    const drained = charges.drain().then(() => {
      isDrained = true
    })
    await one.release()
    expect([isDrained, charges.isOpen(one.holdId), charges.isOpen(other.holdId)]).toEqual([false, false, true])
    await other.capture(linesOf([microUsd(5)]))
    await drained
    expect(isDrained).toBe(true)
  })
})
