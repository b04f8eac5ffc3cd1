import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Client, type ClientOptions } from '#client/client.ts'
import { type DownloadOptions, download, hashOf, saveBody } from '#client/download/download.ts'
import { appendTo, findPart, writePartNote } from '#client/download/part-file.ts'
import { unsyncedBytes } from '#client/limits.ts'
import { downloadAddress, publicLookup } from '#client/wire/wire.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { answerJson, type Handler, littleServer } from './little-server.ts'

const video = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(3 * unsyncedBytes, 7)])
const half = 2 * unsyncedBytes
const etag = '"one"'

async function setUp(handler: Handler) {
  const server = await littleServer(handler)
  const clientOf = (options: Pick<ClientOptions, 'resolve'> = {}) => {
    const client = new Client({ baseUrl: server.baseUrl, credential: { apiKey: canaryApiKey }, ...options })
    onTestFinished(() => client.close())
    return client
  }
  const client = clientOf()
  onTestFinished(server.close)
  const folder = temporaryFolder('download')
  const file = { path: join(folder, 'video.mp4'), partPath: join(folder, '.video.part'), mimeType: 'video/mp4' }
  const get = (options: DownloadOptions = {}, signature = 'x') =>
    download(client, `${server.origin}/file?signature=${signature}`, file, options)
  return { server, folder, file, get, client, clientOf }
}

/** Answers a range if one is asked for and `if-range` fits; breaks the first answer off in the middle. */
const breaking =
  (tag: string, content: () => Buffer): Handler =>
  (seen, response, count) => {
    const start = Number(/^bytes=(\d+)-$/.exec(seen.headers.range ?? '')?.[1] ?? 0)
    const isPart = start > 0 && seen.headers['if-range'] === tag
    const bytes = content().subarray(isPart ? start : 0)
    response.writeHead(isPart ? 206 : 200, {
      etag: tag,
      'content-length': `${bytes.length}`,
      ...(isPart ? { 'content-range': `bytes ${start}-${content().length - 1}/${content().length}` } : {}),
    })
    if (count > 1) return void response.end(bytes)
    // What stands in the way of the rest is that it was promised.
    response.write(bytes.subarray(0, half), () => response.socket?.end())
  }

/** What an earlier process has left of the first half. */
async function leavePart(origin: string, partPath: string, { bytes = half, isWhole = false } = {}): Promise<void> {
  await writeFile(partPath, video.subarray(0, bytes))
  const note = { urlHash: hashOf(`${origin}/file`), etag, lastModified: null, totalBytes: video.length, isWhole }
  await writePartNote(partPath, note)
}

test('an interrupted download resumes, without a credential', async () => {
  const { server, file, folder, get } = await setUp((seen, response) => breaking(etag, () => video)(seen, response, 2))
  await leavePart(server.origin, file.partPath)
  expect(await get()).toEqual({ path: file.path, bytes: video.length })
  expect(video.equals(await readFile(file.path))).toBe(true)
  expect(server.seen[0]?.headers).toMatchObject({
    range: `bytes=${half - unsyncedBytes}-`,
    'if-range': etag,
    'accept-encoding': 'identity',
  })
  expect(server.seen.every(seen => seen.headers.authorization === undefined)).toBe(true)
  expect(await readdir(folder)).toEqual(['video.mp4'])
})

test('a download that breaks off is taken up again until it is whole', async () => {
  const { server, file, get } = await setUp(breaking(etag, () => video))
  await get()
  expect(server.seen).toHaveLength(2)
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('with a weak tag it starts again', async () => {
  const { server, file, get } = await setUp(breaking('W/"one"', () => video))
  await get()
  expect(server.seen[1]?.headers.range).toBeUndefined()
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('a file that has changed meanwhile starts again', async () => {
  const other = Buffer.concat([video, Buffer.alloc(10, 9)])
  let count = 0
  const first = breaking(etag, () => video)
  const second = breaking('"two"', () => other)
  const { file, get } = await setUp((seen, response, times) => (count++ === 0 ? first : second)(seen, response, times))
  await get()
  expect(other.equals(await readFile(file.path))).toBe(true)
})

test('a range that was not asked for is not joined, even one of the right length', async () => {
  const { server, file, get } = await setUp((_, response, count) => {
    if (count > 1) return void response.writeHead(200, { etag }).end(video)
    const headers = { etag, 'content-range': `bytes 0-${video.length - 1}/${video.length}` }
    response.writeHead(206, headers).end(Buffer.alloc(video.length - half + unsyncedBytes))
  })
  await leavePart(server.origin, file.partPath)
  await get()
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('a file that is not a video is not kept, and an existing file is never replaced', async () => {
  const { file, folder, get } = await setUp((_, response) => void response.end('<html>'))
  await expect(get()).rejects.toMatchObject({ kind: 'unreadable' })
  expect(await readdir(folder)).toEqual([])
  const taken = await setUp((_, response) => void response.end(video))
  await writeFile(taken.file.path, 'mine')
  await expect(taken.get()).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await readFile(taken.file.path, 'utf8')).toBe('mine')
  expect(file.path).not.toBe(taken.file.path)
})

test('a missing file is an error of the service; only https is used', async () => {
  const { get, client, file } = await setUp((_, response) => answerJson(response, 410, { error: 'gone' }))
  await expect(get()).rejects.toMatchObject({ kind: 'MEDIA_GONE' })
  for (const url of ['http://127.0.0.1:1/x', 'file:///etc/passwd']) {
    await expect(download(client, url, file)).rejects.toMatchObject({ kind: 'not-allowed' })
  }
})

test.each([
  'https://169.254.169.254/latest',
  'https://0xa9fea9fe/latest',
  'https://10.0.0.1/x',
  'https://172.31.0.1/x',
  'https://192.168.1.1/x',
  'https://100.64.0.1/x',
  'https://0.0.0.0/x',
  'https://[fe80::1]/x',
  'https://[fd00::1]/x',
  'https://[::1]/x',
  'https://[::ffff:10.0.0.1]/x',
  'https://[2002:7f00:1::]/x',
  'https://localhost./x',
  'https://a.localhost/x',
  'https://user@example.com/x',
  'https://:word@example.com/x',
])('no service leads its caller to %s', text => {
  const service = { baseUrl: 'https://service.example/api/v1', origin: 'https://service.example' }
  expect(() => downloadAddress(text, service)).toThrow(expect.objectContaining({ kind: 'not-allowed', wasSent: false }))
})

test.each([
  ['https://10.0.0.1:9443/x', 'https://10.0.0.1'],
  ['http://127.0.0.1:1/x', 'http://127.0.0.1:1'],
  ['https://10.example.com/x', 'https://service.example'],
  ['https://172.32.0.1/x', 'https://service.example'],
  ['https://[2600::1]/x', 'https://service.example'],
])('a file may be at %s of the service %s', (text, origin) => {
  expect(downloadAddress(text, { baseUrl: `${origin}/api/v1`, origin }).href).toBe(text)
})

const named = (...addresses: string[]) => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))

describe('a host that the service names is asked only where its name leads', () => {
  test.each([
    ['this machine', ['127.0.0.1']],
    ["a cloud's metadata", ['169.254.169.254']],
    ['a private network', ['fd00::1']],
    ['the same, written as IPv4 in IPv6', ['::ffff:10.0.0.1']],
    ['the same, translated', ['64:ff9b::a00:1']],
    ['a public address and an inner one', ['203.0.113.1', '192.168.0.1']],
    ['a link of this machine', ['fe80::1%eth0']],
    ['nothing', []],
  ])('not to %s', async (_rule, addresses) => {
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      return named(...addresses)
    }
    const { server, file, clientOf } = await setUp((_, response) => void response.end(video))
    const from = `https://files.example:${new URL(server.origin).port}/file`
    await expect(download(clientOf({ resolve }), from, file)).rejects.toMatchObject({
      kind: 'not-allowed',
      wasSent: false,
    })
    expect(asked).toEqual(['files.example'])
    expect(server.seen).toEqual([])
  })

  test('which is resolved once: what was checked is what is connected to', async () => {
    const answers = [named('203.0.113.1', '2600::1'), named('127.0.0.1')]
    const lookup = publicLookup(async () => answers.shift() ?? [])
    const all = await new Promise(done => lookup('a.example', { all: true }, (_error, found) => done(found)))
    expect(all).toEqual(named('203.0.113.1', '2600::1'))
    expect(await new Promise(done => lookup('a.example', { all: false }, done))).toMatchObject({ kind: 'not-allowed' })
  })

  test('and its own host is where the service is, whatever that is', async () => {
    const { server, file, get, clientOf } = await setUp((_, response) => void response.end(video))
    const resolve = async () => named('203.0.113.1')
    await download(clientOf({ resolve }), `${server.origin}/file`, file)
    expect(server.seen).toHaveLength(1)
    await expect(get()).rejects.toMatchObject({ code: 'EEXIST' })
  })
})

test('a host of a file that cannot be reached is not reported as the service', async () => {
  const { clientOf } = await setUp(() => {})
  const resolve = () => Promise.reject(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }))
  await expect(clientOf({ resolve }).download('https://files.example/file', {})).rejects.toMatchObject({
    ...{ kind: 'unreachable', message: 'The host of the file cannot be reached.', wasSent: false },
    cause: { message: 'The service at https://files.example cannot be reached.' },
  })
})

test('a redirect to another host is not followed', async () => {
  const { server, get } = await setUp(
    (_, response) => void response.writeHead(302, { location: 'https://169.254.169.254/x' }).end(),
  )
  await expect(get()).rejects.toMatchObject({ kind: 'redirected' })
  expect(server.seen).toHaveLength(1)
})

test('inline bytes that break off leave nothing behind', async () => {
  const { folder, file } = await setUp(() => {})
  const broken = async function* () {
    yield video.subarray(0, 50)
    throw new Error('reset')
  }
  const response = { status: 200, headers: new Headers(), body: broken(), discard: () => {} }
  await expect(saveBody(response, file)).rejects.toMatchObject({ kind: 'no-answer' })
  expect(await readdir(folder)).toEqual([])
})

test('a disk that takes nothing leaves no connection open', async () => {
  const folder = temporaryFolder('download')
  for (const headers of [{}, { etag, 'content-length': '1000' }]) {
    let isOpen = true
    const body = new ReadableStream({
      pull: controller => controller.enqueue(video.subarray(0, 10)),
      cancel: () => {
        isOpen = false
      },
    })
    const options = { baseUrl: 'http://localhost/api/v1', credential: null }
    const client = new Client({ ...options, fetch: () => new Response(body, { headers }) })
    const file = { path: join(folder, 'a.mp4'), partPath: join(folder, 'missing', 'a.part'), mimeType: 'video/mp4' }
    await expect(download(client, 'http://localhost/file', file)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(isOpen).toBe(false)
  }
})

/** Answers whatever is asked for of the video, at most `most` bytes of it, and then breaks off. */
const ranged =
  (most: number, headers: Record<string, string> = {}): Handler =>
  (seen, response) => {
    const start = Number(/^bytes=(\d+)-$/.exec(seen.headers.range ?? '')?.[1] ?? 0)
    const isPart = start > 0 && seen.headers['if-range'] === etag
    const bytes = video.subarray(isPart ? start : 0)
    response.writeHead(isPart ? 206 : 200, {
      etag,
      'content-length': `${bytes.length}`,
      ...(isPart ? { 'content-range': `bytes ${start}-${video.length - 1}/${video.length}` } : {}),
      ...headers,
    })
    if (bytes.length <= most) return void response.end(bytes)
    response.write(bytes.subarray(0, most), () => response.socket?.end())
  }

test('a download over a bad connection survives more cuts than a call has attempts', async () => {
  const { server, file, get } = await setUp(ranged(256 * 1024))
  await get()
  expect(video.equals(await readFile(file.path))).toBe(true)
  const starts = server.seen.slice(1).map(seen => Number(/^bytes=(\d+)-$/.exec(seen.headers.range ?? '')?.[1]))
  expect(starts.length).toBeGreaterThanOrEqual(12)
  expect(starts).toEqual([...new Set(starts)].sort((one, other) => one - other))
})

test('a newly signed address continues the same file', async () => {
  const { server, file, get } = await setUp(ranged(video.length))
  await leavePart(server.origin, file.partPath)
  await get({}, 'another')
  expect(server.seen).toHaveLength(1)
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('what an earlier process had whole gets its name, and nothing is asked', async () => {
  const { server, file, get } = await setUp(ranged(video.length))
  await leavePart(server.origin, file.partPath, { bytes: video.length, isWhole: true })
  await get()
  expect(server.seen).toEqual([])
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test.each([
  ['its time differs', { 'last-modified': 'Tue, 03 Feb 2026 00:00:00 GMT' }],
  ['its tag differs', { etag: '"two"' }],
  ['it is of another size', { 'content-range': `bytes ${half}-${video.length}/${video.length + 1}` }],
])('a continuation is not joined where %s', async (_, headers) => {
  const lastModified = { 'last-modified': 'Mon, 02 Feb 2026 00:00:00 GMT' }
  const { server, file, get } = await setUp((seen, response, count) =>
    count === 1
      ? ranged(half, lastModified)(seen, response, count)
      : ranged(video.length, count === 2 ? headers : {})(seen, response, count),
  )
  await get()
  expect(server.seen.map(seen => seen.headers.range !== undefined)).toEqual([false, true, false])
  expect(video.equals(await readFile(file.path))).toBe(true)
})

/** Gives the whole body, and breaks off instead of ending it; then it refuses the range after the last byte. */
const withoutEnd =
  (wholeBytes: number): Handler =>
  (seen, response, count) => {
    if (seen.headers.range !== undefined) {
      return void response.writeHead(416, { 'content-range': `bytes */${wholeBytes}` }).end()
    }
    response.writeHead(200, { etag, 'content-length': `${video.length}` })
    if (count > 1) return void response.end(video)
    response.write(video.subarray(0, -1))
    response.socket?.end()
  }

test('a range that is refused although bytes are missing starts again', async () => {
  const { server, file, get } = await setUp(withoutEnd(video.length))
  await get()
  expect(server.seen).toHaveLength(3)
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('a refused range after the last byte means that all of it is here', async () => {
  const { server, file, get } = await setUp((_, response) => {
    response.writeHead(416, { 'content-range': `bytes */${half}` }).end()
  })
  await writeFile(file.partPath, video.subarray(0, half))
  const note = { urlHash: hashOf(`${server.origin}/file`), etag, lastModified: null, totalBytes: half, isWhole: false }
  await writePartNote(file.partPath, note)
  await expect(get()).rejects.toMatchObject({ kind: 'no-answer' })
  expect(await findPart(file.partPath)).toBeNull()
})

test.each([403, 410, 429, 500])('what has come is kept over an answer %i', async status => {
  const { server, file, get } = await setUp((_, response) =>
    answerJson(response, status, { error: 'no' }, { 'retry-after': '3600' }),
  )
  await leavePart(server.origin, file.partPath)
  await expect(get()).rejects.toMatchObject({ status })
  expect(await findPart(file.partPath)).toMatchObject({ bytes: half - unsyncedBytes })
})

test('without room nothing is written, and a disk that fills up keeps what has come', async () => {
  const { server, file, folder, get } = await setUp(ranged(video.length))
  const freeBytes = async () => video.length
  await expect(get({ freeBytes })).rejects.toMatchObject({ kind: 'no-space' })
  expect(await readdir(folder)).toEqual([])
  await leavePart(server.origin, file.partPath)
  await expect(get({ freeBytes })).rejects.toMatchObject({ kind: 'no-space' })
  expect(server.seen).toHaveLength(1)
  expect(await findPart(file.partPath)).not.toBeNull()
  await get()
  expect(video.equals(await readFile(file.path))).toBe(true)
})

test('a disk that fills up during the download is reported as full', { tags: ['linux'] }, async () => {
  const pieces = async function* () {
    yield video
  }
  const filling = appendTo('/dev/full', pieces(), { from: 0, maximumBytes: video.length })
  await expect(filling).rejects.toMatchObject({ kind: 'no-space', cause: { code: 'ENOSPC' } })
})

test('a file that is larger than any that is taken is refused before its first byte', async () => {
  const { folder, get } = await setUp((_, response) => {
    response.writeHead(200, { etag, 'content-length': `${2 ** 40}` })
    response.write(video.subarray(0, 10))
  })
  await expect(get()).rejects.toMatchObject({ kind: 'too-large' })
  expect(await readdir(folder)).toEqual([])
})
