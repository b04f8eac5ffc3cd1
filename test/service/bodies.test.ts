import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { pulledBody, readerPatienceMs } from '#service/http/body/pulled-body.ts'
import { fileBody } from '#service/http/body/send.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** A body that counts how it ended. */
function counted(pieces: string[], fails = false) {
  const ends: boolean[] = []
  const body = pulledBody({
    async next() {
      const piece = pieces.shift()
      if (piece === undefined && fails) throw new Error('the source broke')
      return piece === undefined ? null : bytes(piece)
    },
    async end(delivered) {
      ends.push(delivered)
    },
  })
  return { body, ends }
}

describe('a body ends once', () => {
  test('when all has been read', async () => {
    const { body, ends } = counted(['a', 'b'])
    expect(await new Response(body).text()).toBe('ab')
    expect(ends).toEqual([true])
  })

  test('when the reader leaves before the first read', async () => {
    const { body, ends } = counted(['a'])
    await body.cancel()
    expect(ends).toEqual([false])
  })

  test('when its source breaks', async () => {
    const { body, ends } = counted(['a'], true)
    await expect(new Response(body).text()).rejects.toThrow('the source broke')
    expect(ends).toEqual([false])
  })
})

describe('S10, G7: a reader who stalls', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test('has left after some minutes without taking a piece', async () => {
    const { body, ends } = counted(['a', 'b', 'c'])
    const reader = body.getReader()
    await reader.read()
    await vi.advanceTimersByTimeAsync(readerPatienceMs - 1)
    expect(ends).toEqual([])
    await reader.read()
    await vi.advanceTimersByTimeAsync(readerPatienceMs - 1)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(ends).toEqual([false])
    await expect(reader.read()).rejects.toThrow('The reader took nothing for too long.')
    expect(ends).toEqual([false])
  })

  test('is another than one who waits for a piece, or who has read all', async () => {
    const late = Promise.withResolvers<Uint8Array>()
    const ends: boolean[] = []
    const pieces = [Promise.resolve(bytes('a')), late.promise, Promise.resolve(null)]
    const body = pulledBody({
      next: async () => (await pieces.shift()) ?? null,
      end: async delivered => void ends.push(delivered),
    })
    const text = new Response(body).text()
    await vi.advanceTimersByTimeAsync(2 * readerPatienceMs)
    late.resolve(bytes('b'))
    expect(await text).toBe('ab')
    await vi.advanceTimersByTimeAsync(2 * readerPatienceMs)
    expect([ends, vi.getTimerCount()]).toEqual([[true], 0])
  })
})

describe('files', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-body-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('nothing is opened before somebody reads', async () => {
    const path = join(folder, 'file')
    const body = fileBody(path, {})
    // Written only now: a body that had opened its file before would not find it.
    await writeFile(path, 'content')
    expect(await new Response(body).text()).toBe('content')
  })

  test('a part of a file is that part', async () => {
    const path = join(folder, 'file')
    await writeFile(path, 'content')
    expect(await new Response(fileBody(path, { start: 3, end: 4 })).text()).toBe('te')
  })
})
