import { afterAll, expect, test } from 'vitest'
import { imageSize } from '#contract/wire/image-header.ts'
import { DemoImages, demoImageWorker } from '#engines/demo/images.ts'

/** A thread has to start, on a machine that may be busy. */
const threadMs = 60_000

const worker = demoImageWorker()
const engine = new DemoImages(worker)
afterAll(() => worker.close())

const generate = (prompt: string, count = 1, signal = new AbortController().signal) =>
  engine.generate({ request: { prompt, count, width: 64, height: 32, format: 'png' }, engineModel: '', signal })

test(
  'the same words make the same images, each of a request another',
  async () => {
    const [first, second] = await generate('a boat', 2)
    if (!first || !second) throw new Error('There are no two images.')
    expect(imageSize('png', first)).toEqual({ width: 64, height: 32 })
    expect([first.equals(second), await generate('a boat')]).toEqual([false, [first]])
    expect((await generate('a car'))[0]?.equals(first)).toBe(false)
  },
  threadMs,
)

test('a caller who has left gets their own reason', async () => {
  await expect(generate('a boat', 1, AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
})

test('nothing is drawn beside the thread: once that has ended, nothing is', async () => {
  const ended = demoImageWorker()
  await ended.close()
  const request = { prompt: 'a boat', count: 1, width: 64, height: 32, format: 'png' } as const
  const call = { request, engineModel: '', signal: new AbortController().signal }
  await expect(new DemoImages(ended).generate(call)).rejects.toMatchObject({ kind: 'MODEL_OVERLOADED' })
})
