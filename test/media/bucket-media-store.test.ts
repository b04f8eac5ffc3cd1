/** Finished media in a bucket of a real server. */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { JobState } from '#ledger/store/units.ts'
import { Bucket } from '#media/bucket.ts'
import { BucketMediaStore, partBytes } from '#media/bucket-media-store.ts'
import type { BucketMediaOptions, BucketOptions } from '#media/media-options.ts'
import type { S3Server } from '../s3/swift-server.ts'
import { withBucketServer } from '../s3/with-bucket.ts'
import { temporaryFolder } from '../temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000 })

const silent = { info() {}, warn() {}, error() {} }
const newName = () => `${randomUUID()}.mp4`
const keyOf = (name: string) => `farebox/jobs/${name}`
const states = (known: Record<string, JobState>) => async () => new Map(Object.entries(known))

withBucketServer('media in a bucket of OpenStack Swift', 'swift', mediaInBucket)
withBucketServer('media in a bucket of Ceph', 'ceph', mediaInBucket)

async function collected(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

function mediaInBucket(server: () => S3Server): void {
  let folder: string
  let options: BucketOptions
  let bucket: Bucket
  beforeAll(() => {
    folder = temporaryFolder('bucket')
  })
  beforeEach(async () => {
    options = await server().bucket()
    bucket = new Bucket(options)
    await rm(join(folder, 'notes'), { recursive: true, force: true })
  })

  const open = (changed: Partial<BucketMediaOptions> = {}) =>
    new BucketMediaStore(
      { ...options, prefix: 'farebox/', ...changed },
      { notes: join(folder, 'notes'), clock: { now: () => Date.now() }, log: silent },
    )

  async function file(bytes: Buffer): Promise<string> {
    const path = join(folder, randomUUID())
    await writeFile(path, bytes)
    return path
  }

  async function keys(): Promise<string[]> {
    const found: string[] = []
    for await (const page of bucket.list('', 1)) found.push(...page.map(({ key }) => key))
    return found
  }

  /** Until the end of the test. */
  function aroundRequests(
    around: (ask: () => Promise<Response>, method: string | undefined, query: URLSearchParams) => Promise<Response>,
  ): void {
    const { fetch: real } = globalThis
    vi.stubGlobal('fetch', (url: URL, init: RequestInit) =>
      around(() => real(url, init), init.method, url.searchParams),
    )
    onTestFinished(() => void vi.unstubAllGlobals())
  }

  const notes = () => readdir(join(folder, 'notes')).catch(() => [])

  test.each([
    ['of one request', 1_000],
    ['of exactly one part', partBytes],
    ['of three parts', 2 * partBytes + 7],
  ])('a file %s arrives whole, is read whole and in parts, and leaves the engine’s folder', async (_, size) => {
    const media = open()
    const bytes = randomBytes(size)
    const path = await file(bytes)
    const name = newName()
    expect(await media.take(path, name, { mimeType: 'video/mp4' })).toEqual({ bytes: size })
    expect(await media.find(name)).toEqual({ bytes: size })
    expect((await collected(media.read(name))).equals(bytes)).toBe(true)
    const range = { start: size - 500, end: size - 100 }
    expect((await collected(media.read(name, { range }))).equals(bytes.subarray(range.start, range.end + 1))).toBe(true)
    expect([existsSync(path), await notes(), await bucket.uploads('')]).toEqual([false, [], []])
    await media.delete(name)
    await media.delete(name)
    expect(await media.find(name)).toBeNull()
  })

  test('an upload that is given up leaves neither an object nor parts, and the file stays', async () => {
    const media = open()
    const path = await file(randomBytes(2 * partBytes))
    const name = newName()
    const lost = new AbortController()
    // With its first part: while an upload begins, its id is unknown, and it is left to the sweep.
    aroundRequests((ask, _method, query) => {
      if (query.has('partNumber')) lost.abort(new Error('lost'))
      return ask()
    })
    await expect(media.take(path, name, { signal: lost.signal })).rejects.toThrow('lost')
    expect([await media.find(name), await bucket.uploads(''), existsSync(path)]).toEqual([null, [], true])
  })

  test('an upload of a killed process is aborted when its job is taken up again', async () => {
    const name = newName()
    await bucket.beginUpload(keyOf(name), {})
    const bytes = randomBytes(partBytes + 1)
    await open().take(await file(bytes), name)
    expect([await bucket.uploads(''), (await collected(open().read(name))).equals(bytes)]).toEqual([[], true])
  })

  test('an upload whose beginning was not answered is aborted before the next one begins', async () => {
    let lost = 0
    aroundRequests(async (ask, method, query) => {
      const answer = await ask()
      if (method !== 'POST' || !query.has('uploads') || lost > 0) return answer
      lost++
      throw new TypeError('fetch failed')
    })
    const name = newName()
    const bytes = randomBytes(partBytes + 1)
    await open().take(await file(bytes), name)
    expect([lost, await bucket.uploads('')]).toEqual([1, []])
    expect((await collected(open().read(name))).equals(bytes)).toBe(true)
  })

  test('the sweep deletes objects, uploads and engine files of jobs that are over, and nothing else', async () => {
    const media = open()
    const [failed, deleted, live, finished] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    for (const job of [failed, live]) {
      await bucket.put(keyOf(`${job}.mp4`), 'a film')
      await bucket.beginUpload(keyOf(`${job}.mp4`), {})
    }
    await bucket.put(keyOf('of-another-program'), 'a text')
    await bucket.put('elsewhere', 'a text')
    await bucket.beginUpload(keyOf(`${deleted}.mp4`), {})
    await mkdir(join(folder, 'notes'), { recursive: true })
    const kept = await file(Buffer.from('a film'))
    const left = await file(Buffer.from('a film'))
    await writeFile(join(folder, 'notes', `${live}.mp4.upload`), kept)
    await writeFile(join(folder, 'notes', `${finished}.mp4.upload`), left)
    const known = states({ [failed]: 'failed', [deleted]: 'deleted', [live]: 'running', [finished]: 'completed' })
    expect(await media.sweep(known)).toBe(4)
    expect(await keys()).toEqual(['elsewhere', keyOf('of-another-program'), keyOf(`${live}.mp4`)].sort())
    expect((await bucket.uploads('')).map(({ key }) => key)).toEqual([keyOf(`${live}.mp4`)])
    expect([existsSync(kept), existsSync(left), await notes()]).toEqual([true, false, [`${live}.mp4.upload`]])
    expect(await media.sweep(known)).toBe(0)
  })

  test('an address of the bucket delivers without the service, and a changed or expired one does not', async () => {
    const { endpoint } = options
    const media = open({ downloadEndpoint: endpoint })
    const name = newName()
    const grant = { expiresInMs: 60_000, fileName: name }
    // As a caller has it: when the job is accepted, before there is a file.
    const url = (await media.downloadUrl(name, grant)) ?? ''
    expect((await fetch(url)).status).toBe(404)
    await media.take(await file(Buffer.from('a film')), name, { mimeType: 'video/mp4' })
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'video/mp4',
      'a film',
    ])
    expect(answer.headers.get('content-disposition')).toContain(name)
    expect((await fetch(url.replace('Expires=60', 'Expires=90'))).status).toBe(403)
    const short = (await media.downloadUrl(name, { ...grant, expiresInMs: 1_000 })) ?? ''
    await expect.poll(async () => (await fetch(short)).status, { interval: 250 }).toBe(403)
    expect(await open().downloadUrl(name, grant)).toBeNull()
  })

  test.each([
    ['another secret', { secretKey: 'another' }, /refuses the key.*secretKey/],
    ['a bucket that is not there', { bucket: 'nobody-made-this' }, /There is no bucket nobody-made-this.*Create it/],
    ['a server that is not there', { endpoint: 'http://127.0.0.1:1' }, /does not answer.*media\.s3\.endpoint/],
  ])('%s is reported at startup', async (_, changed, told) => {
    await expect(open(changed).check()).rejects.toThrow(told)
  })

  test('a check at the start leaves nothing behind', async () => {
    await open().check()
    expect(await keys()).toEqual([])
  })

  test('a server that is killed during an upload and comes back gets the whole file', async () => {
    const media = open()
    const bytes = randomBytes(3 * partBytes)
    const name = newName()
    const taking = media.take(await file(bytes), name)
    await vi.waitUntil(async () => (await bucket.uploads('')).length > 0, { timeout: 30_000, interval: 5 })
    await server().kill()
    const back = server().run()
    const first = await taking.then(
      () => true,
      () => false,
    )
    await back
    // Bounded: where the server was away for longer, the next attempt of the job uploads it.
    if (!first) await media.take(await file(bytes), name)
    expect((await collected(media.read(name))).equals(bytes)).toBe(true)
    expect(await bucket.uploads('')).toEqual([])
  })

  test('a download resumes after the server was killed', async () => {
    const media = open()
    const bytes = randomBytes(3 * partBytes)
    const name = newName()
    await media.take(await file(bytes), name)
    const pieces: Uint8Array[] = []
    for await (const piece of media.read(name)) {
      pieces.push(piece)
      if (pieces.length > 1) continue
      await server().kill()
      await server().run()
      // As if it came back only now, after more attempts than one request has: on a busy machine it takes longer than a
      // reader waits.
      let refused = 0
      aroundRequests(async ask => {
        if (refused++ < 6) throw new TypeError('fetch failed')
        return ask()
      })
    }
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
  })
}
