import { describe, expect, test } from 'vitest'
import { inRequest } from '#host/tracing/tracing.ts'
import { Slots } from '#host/workers/slots.ts'

const staying = new AbortController().signal

test('a task that leaves the queue gives up its place at once, and is skipped when a slot is free', async () => {
  const slots = new Slots(1, 1)
  const first = Promise.withResolvers<void>()
  const running = slots.run(() => first.promise, staying)
  const gone = new AbortController()
  let began = false
  const left = slots.run(async () => {
    began = true
  }, gone.signal)
  expect(slots.full).toBe(true)
  gone.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(slots.full).toBe(false)
  const next = slots.run(async () => 'next', staying)
  first.resolve()
  await running
  expect(await next).toBe('next')
  expect(began).toBe(false)
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})

test('a task that was cancelled before takes no slot', async () => {
  const slots = new Slots(1, 1)
  await expect(slots.run(async () => 'ran', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})

test('a task that is cancelled while it runs ends alone, and its slot is passed on once', async () => {
  const slots = new Slots(1, 2)
  const first = Promise.withResolvers<void>()
  const running = slots.run(() => first.promise, staying)
  const gone = new AbortController()
  const second = slots.run(async () => gone.abort(new Error('gone')), gone.signal)
  const third = slots.run(async () => 'third', staying)
  first.resolve()
  await Promise.all([running, second])
  expect(await third).toBe('third')
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})

describe('D10: accounts share the slots', () => {
  /** Tasks that end when they are told to, and the names of those that began. */
  function scripted(most: number, mostWaiting: number) {
    const slots = new Slots(most, mostWaiting)
    const began: string[] = []
    const gates = new Map<string, () => void>()
    const as = <Value>(account: string | null, run: () => Value): Value =>
      inRequest({ requestId: 'r', trace: null, account, retries: 0 }, run)
    const settled = () => new Promise(resolve => setImmediate(resolve))
    const start = async (account: string | null, ...names: string[]) => {
      for (const name of names) {
        const task = () => {
          began.push(name)
          return new Promise<void>(resolve => gates.set(name, resolve))
        }
        void as(account, () => slots.run(task, staying))
      }
      await settled()
    }
    const end = async (name: string) => {
      gates.get(name)?.()
      await settled()
    }
    return { began, start, end, isFullFor: (account: string | null) => as(account, () => slots.full) }
  }

  test('one account never has all the slots, so another begins at once', async () => {
    const { began, start } = scripted(2, 100)
    await start('ada', 'a1', 'a2', 'a3')
    expect(began).toEqual(['a1'])
    await start('bob', 'b1')
    expect(began).toEqual(['a1', 'b1'])
  })

  test('an account alone has the only slot there is', async () => {
    const { began, start } = scripted(1, 100)
    await start('ada', 'a1')
    expect(began).toEqual(['a1'])
  })

  test('accounts take turns, even if one came first with many tasks', async () => {
    const { began, start, end } = scripted(1, 100)
    await start('ada', 'a1', 'a2', 'a3', 'a4')
    await start('bob', 'b1', 'b2')
    await start('cy', 'c1')
    for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']) await end(name)
    expect(began).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  })

  test('an account has a share of the line, which is full for it alone', async () => {
    const { start, isFullFor } = scripted(1, 8)
    await start('ada', 'a1')
    expect(isFullFor('ada')).toBe(false)
    await start('ada', 'a2', 'a3')
    expect([isFullFor('ada'), isFullFor('bob'), isFullFor(null)]).toEqual([true, false, false])
    for (const account of ['bob', 'cy', 'di']) await start(account, `${account}1`, `${account}2`)
    expect([isFullFor('eve'), isFullFor(null)]).toEqual([true, true])
  })

  test('work of no account has all the slots', async () => {
    const { began, start } = scripted(2, 8)
    await start(null, 'own1', 'own2', 'own3')
    expect(began).toEqual(['own1', 'own2'])
  })
})
