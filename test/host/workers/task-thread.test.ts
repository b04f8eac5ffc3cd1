import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { inRequest } from '#host/tracing/tracing.ts'
import { TaskThread } from '#host/workers/task-thread.ts'

type Task = 'count' | 'hang' | 'die' | 'grow' | 'print'

const url = new URL('./failing-thread.ts', import.meta.url)
const options = { name: 'odd', url, timeoutMs: 60_000, waiting: 3, heapMb: 32, leftMs: 1 }

describe('a thread for tasks', { timeout: 60_000 }, () => {
  let thread: TaskThread<Task, number>
  beforeEach(() => {
    thread = new TaskThread(options)
  })
  afterEach(() => thread.close())

  test('answers one after the other, on one thread', async () => {
    expect(await Promise.all([thread.run('count'), thread.run('count'), thread.run('count')])).toEqual([1, 2, 3])
  })

  test.each<[string, Task]>([
    ['ends its thread', 'die'],
    ['takes too much memory', 'grow'],
  ])('a task that %s fails alone, and the next has a new thread', async (_, task) => {
    const died = thread.run(task)
    const next = thread.run('count')
    await expect(died).rejects.toMatchObject({ name: 'TaskFailed', reason: 'died' })
    expect(await next).toBe(1)
  })

  test('a task that hangs is given up', async () => {
    const hasty = new TaskThread<Task, number>({ ...options, timeoutMs: 1 })
    await expect(hasty.run('hang')).rejects.toMatchObject({ name: 'TaskFailed', reason: 'late' })
    await hasty.close()
  })

  test('a cancelled task is ended, and a waiting one never starts', async () => {
    const left = new AbortController()
    const ended = Promise.allSettled([thread.run('hang', left.signal), thread.run('die', left.signal)])
    const other = thread.run('count')
    left.abort(new Error('gone'))
    expect((await ended).map(each => each.status === 'rejected' && each.reason.message)).toEqual(['gone', 'gone'])
    expect(await other).toBe(1)
  })

  test('a task that ends soon after its caller has left keeps its thread', async () => {
    const patient = new TaskThread<Task, number>({ ...options, leftMs: 60_000 })
    const left = new AbortController()
    const gone = Promise.allSettled([patient.run('count', left.signal)])
    left.abort(new Error('gone'))
    expect(await patient.run('count')).toBe(2)
    expect((await gone)[0]?.status).toBe('rejected')
    await patient.close()
  })

  test('a thread that cannot be started fails only its task, and the queue continues', async () => {
    const odd = { ...options, url: new URL('./no-thread.txt', 'http://localhost/') }
    const broken = new TaskThread<Task, number>(odd)
    const ended = await Promise.allSettled([broken.run('count'), broken.run('count')])
    expect(ended).toMatchObject([{ reason: { reason: 'died' } }, { reason: { reason: 'died' } }])
    odd.url = url
    expect(await broken.run('count')).toBe(1)
    await broken.close()
  })

  test('a thread without tasks ends, and the next task has a new one', async () => {
    const short = new TaskThread<Task, number>({ ...options, idleMs: 1 })
    await Promise.all([short.run('count'), short.run('count')])
    await expect.poll(() => short.run('count'), { interval: 100, timeout: 30_000 }).toBe(1)
    await short.close()
  })

  test('what cannot be sent to a thread fails alone', async () => {
    await expect(thread.run((() => {}) as unknown as Task)).rejects.toThrow('could not be cloned')
    expect(await thread.run('count')).toBe(1)
  })

  test('D12: what a package prints on a thread reaches no log', async () => {
    const written: string[] = []
    const spies = [process.stdout, process.stderr].map(stream =>
      vi.spyOn(stream, 'write').mockImplementation(text => written.push(String(text)) > 0),
    )
    await thread.run('print')
    await thread.close()
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    for (const spy of spies) spy.mockRestore()
    expect(written.join('')).not.toContain('a line for the log')
  })

  test('tasks beyond the queue get a short Retry-After', async () => {
    const left = new AbortController()
    const running = thread.run('hang', left.signal)
    const waiting = [thread.run('count'), thread.run('count'), thread.run('count')]
    await expect(thread.run('count')).rejects.toMatchObject({ status: 429 })
    left.abort(new Error('gone'))
    await expect(running).rejects.toThrow('gone')
    expect(await Promise.all(waiting)).toEqual([1, 2, 3])
  })

  const as = (account: string, task: Task, signal?: AbortSignal) =>
    inRequest({ requestId: 'r', trace: null, account, retries: 0 }, () => thread.run(task, signal))

  test('D10: one account has a share of the places, and others their turn before its next', async () => {
    thread = new TaskThread({ ...options, waiting: 8 })
    const left = new AbortController()
    const running = as('ada', 'hang', left.signal)
    const mine = [as('ada', 'count'), as('ada', 'count')]
    await expect(as('ada', 'count')).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '2' } })
    const others = [as('bob', 'count'), as('cy', 'count')]
    left.abort(new Error('gone'))
    await expect(running).rejects.toThrow('gone')
    expect(await Promise.all([...mine, ...others])).toEqual([3, 4, 1, 2])
  })

  test('a cancelled task takes no slot of a share', async () => {
    const left = new AbortController()
    const ended = Promise.allSettled([as('ada', 'hang', left.signal), as('ada', 'count', left.signal)])
    await expect(as('ada', 'count')).rejects.toMatchObject({ status: 429 })
    left.abort(new Error('gone'))
    expect(await as('ada', 'count')).toBe(1)
    await ended
  })

  test('what waits when it is closed is refused, and so is what comes later', async () => {
    const ended = Promise.allSettled([thread.run('hang'), thread.run('count')])
    await thread.close()
    expect((await ended).map(each => each.status === 'rejected' && each.reason)).toMatchObject([
      { reason: 'died' },
      { status: 429 },
    ])
    await expect(thread.run('count')).rejects.toMatchObject({ status: 429 })
  })
})
