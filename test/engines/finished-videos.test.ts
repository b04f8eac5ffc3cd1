import { open, readdir, readFile, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { fetchedVideoMs, jobQuestionMs } from '#engines/jobs/job-upstream.ts'
import { json, type Said, video } from './job-double.ts'
import { call, follow, jobEngines, type Kind, wires } from './job-engines.ts'

const world = jobEngines()

describe('a finished video', () => {
  const bytes = Buffer.from('0000ftypisom a film')
  const finished: [rule: string, kind: Kind, prepare: () => void, deletes: string][] = [
    ['inline', 'service', () => world.server.says(wires.service.look, video(bytes)), 'POST /v1/video/complete'],
    [
      'by its address',
      'service',
      () => {
        const download_url = `${world.server.origin}/signed?x=1`
        world.server.says(wires.service.submit, json({ model: 'their-model', queue_id: 'q1', download_url }))
        world.server.says(wires.service.look, json({ status: 'COMPLETED' }))
        world.server.says('GET /signed?x=1', video(bytes))
      },
      'POST /v1/video/complete',
    ],
    [
      'its content',
      'openai',
      () => {
        world.server.says(wires.openai.look, json({ status: 'completed' }))
        world.server.says('GET /v1/videos/q1/content', video(bytes))
      },
      'DELETE /v1/videos/q1',
    ],
  ]
  test.each(finished)('%s (%s)', async (_rule, kind, prepare, deletes) => {
    world.server.says(wires[kind].submit, wires[kind].taken)
    prepare()
    const done = await follow(world.engine(kind), 5)
    if (done.state !== 'completed') throw new Error(JSON.stringify(done))
    expect(await readFile(done.path)).toEqual(bytes)
    // A repeated request, after a restart too, finds the file and calls no engine.
    const before = world.server.seen.length
    expect(await world.engine(kind).start(call())).toMatchObject({ state: 'completed', path: done.path })
    expect(world.server.seen.length).toBe(before)
    // The engine's copy is deleted only once ours is stored.
    expect(world.server.lines()).not.toContain(deletes)
    const again = await world.engine(kind).poll(call(), { videoId: 'q1', queueId: 'q1' })
    for (const each of [done, again]) {
      if (each.state === 'completed') await each.release?.()
      expect(world.server.lines().at(-1)).toBe(deletes)
    }
  })

  test('of which the disk takes a part at a time is written whole', async () => {
    const handle = await open(fileURLToPath(import.meta.url))
    const files = Object.getPrototypeOf(handle)
    await handle.close()
    const write: typeof handle.write = files.write
    const taken = vi.spyOn(files, 'write').mockImplementation(function (this: typeof handle, piece: unknown) {
      return write.call(this, (piece as Buffer).subarray(0, 5) as never)
    })
    onTestFinished(() => taken.mockRestore())
    world.server.says(wires.service.look, video(bytes))
    const done = await world.engine('service').poll(call(), { queueId: 'q1' })
    if (done.state !== 'completed') throw new Error(JSON.stringify(done))
    expect(await readFile(done.path)).toEqual(bytes)
  })

  describe('that comes slowly', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
    afterEach(() => void vi.useRealTimers())

    /** Its head has come. */
    async function begun() {
      const { promise: held, resolve } = Promise.withResolvers<ServerResponse>()
      world.server.says(wires.service.look, response => {
        response.writeHead(200, { 'content-type': 'video/mp4' })
        response.write(bytes, () => resolve(response))
      })
      const outcome = world
        .engine('service')
        .poll(call(), { queueId: 'q1' })
        .catch(() => ({ state: 'broken off' }))
      const written = async () => {
        const [part = ''] = await readdir(world.folder)
        return part ? (await stat(join(world.folder, part))).size : 0
      }
      const response = await held
      await expect.poll(written).toBe(bytes.length)
      return { response, outcome, written }
    }

    test('has longer than the question after it', async () => {
      const { response, outcome } = await begun()
      await vi.advanceTimersByTimeAsync(jobQuestionMs + 1_000)
      response.end()
      expect((await outcome).state).toBe('completed')
    })

    test('is not waited for without end', async () => {
      const { response, outcome, written } = await begun()
      for (let passedMs = 0, more = 1; passedMs <= fetchedVideoMs - 40_000; passedMs += 40_000, more++) {
        response.write('x')
        await expect.poll(written).toBe(bytes.length + more)
        await vi.advanceTimersByTimeAsync(40_000)
      }
      expect([(await outcome).state, await readdir(world.folder)]).toEqual(['broken off', []])
    })
  })

  test('it is an MP4 by its bytes, whatever its type is said to be', async () => {
    const typed =
      (type: string, body: Buffer): Said =>
      response =>
        void response.writeHead(200, { 'content-type': type }).end(body)
    const made = world.engine('service')
    const asked = (jobId: string) => made.poll({ ...call(), jobId }, { queueId: 'q1' })
    for (const type of ['application/octet-stream', 'video/quicktime', 'video/mp4']) {
      world.server.says(wires.service.look, typed(type, bytes))
      expect(await asked(`job-${type.length}`)).toMatchObject({ state: 'completed', mimeType: 'video/mp4' })
    }
    world.server.says(wires.service.look, typed('video/mp4', Buffer.from('<html>no film</html>')))
    expect(await asked('job-none')).toEqual({ state: 'failed', reason: 'The engine made no MP4.' })
    expect(await readdir(world.folder)).toHaveLength(3)
  })

  test('V6: no key goes to a signed address, and to no other host in plain', async () => {
    world.server.says(wires.service.look, json({ status: 'COMPLETED' }))
    world.server.says('GET /signed', video(bytes))
    const made = world.engine('service')
    const at = (downloadUrl: string) => made.poll(call(), { queueId: 'q1', downloadUrl })
    await expect(at(`http://localhost:1/signed`)).rejects.toThrow('not allowed')
    await expect(at('file:///etc/passwd')).rejects.toThrow('not allowed')
    expect((await at(`${world.server.origin}/signed`)).state).toBe('completed')
    expect(world.server.seen.find(({ line }) => line === 'GET /signed')?.headers.authorization).toBeUndefined()
  })
})
