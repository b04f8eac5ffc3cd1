import { EventEmitter } from 'node:events'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { pulledBody, readerPatienceMs, writePulled } from '#host/pulled-body.ts'
import { fileBody } from '#service/http/body/send.ts'
import { temporaryFolder } from '../temporary-folder.ts'

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
    await expect(reader.read()).rejects.toThrow('The client read nothing for too long.')
    expect(ends).toEqual([false])
  })

  test('differs from one that waits for a chunk, or has read everything', async () => {
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
  beforeEach(() => {
    folder = temporaryFolder('body')
  })

  test('nothing is opened before the first read', async () => {
    const path = join(folder, 'file')
    const body = fileBody(() => createReadStream(path))
    // Written only now: a body that had opened its file before would not find it.
    await writeFile(path, 'content')
    expect(await new Response(body).text()).toBe('content')
  })

  test('a part of a file is that part', async () => {
    const path = join(folder, 'file')
    await writeFile(path, 'content')
    expect(await new Response(fileBody(() => createReadStream(path, { start: 3, end: 4 }))).text()).toBe('te')
  })
})

describe('a body on a socket', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** A socket whose reader takes one piece at a time, and a body of three pieces. */
  function stalling() {
    const socket = Object.assign(new EventEmitter(), {
      ...{ destroyed: false, written: [] as string[], ended: false },
      write(piece: Uint8Array) {
        socket.written.push(Buffer.from(piece).toString())
        return false
      },
      end: () => void Object.assign(socket, { ended: true }),
      destroy: () => void Object.assign(socket, { destroyed: true }),
    })
    const ends: boolean[] = []
    const pieces = ['a', 'b', 'c']
    const written = writePulled(socket as unknown as ServerResponse, {
      next: async () => (pieces.length ? bytes(pieces.shift() ?? '') : null),
      last: () => bytes('z'),
      end: async delivered => void ends.push(delivered),
    })
    return { socket, ends, written, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
  }

  test('goes out as fast as its reader takes it, and ends once', async () => {
    const { socket, ends, written, pass } = stalling()
    await pass(readerPatienceMs - 1)
    expect(socket.written).toEqual(['a'])
    for (let taken = 0; taken < 3; taken++) {
      socket.emit('drain')
      await pass(1)
    }
    await written
    expect([socket.written, ends, socket.ended, vi.getTimerCount()]).toEqual([['a', 'b', 'c', 'z'], [true], true, 0])
  })

  test('is cut off where its reader takes nothing for some minutes', async () => {
    const { socket, ends, written, pass } = stalling()
    await pass(readerPatienceMs)
    await written
    expect([socket.written, ends, socket.destroyed, socket.ended]).toEqual([['a'], [false], true, false])
  })

  test('makes no more once its reader has left', async () => {
    const { socket, ends, written, pass } = stalling()
    await pass(1)
    socket.emit('close')
    await written
    expect([socket.written, ends, vi.getTimerCount()]).toEqual([['a'], [false], 0])
  })
})
