import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Client } from '#client/client.ts'
import { download, saveBody } from '#client/download.ts'
import { writePartNote } from '#client/part-file.ts'
import { answerJson, type Handler, littleServer } from './little-server.ts'

const video = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(200_000, 7)])
const etag = '"one"'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function setUp(handler: Handler) {
  const server = await littleServer(handler)
  const client = new Client({ baseUrl: server.baseUrl, credential: { apiKey: 'secret' } })
  closing.push(() => client.close(), server.close)
  const folder = mkdtempSync(join(tmpdir(), 'farebox-download-'))
  const file = { path: join(folder, 'video.mp4'), partPath: join(folder, '.video.part'), mimeType: 'video/mp4' }
  return { server, folder, file, get: () => download(client, `${server.origin}/file?signature=x`, file), client }
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
    response.write(bytes.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 20))
  }

/** What an earlier download of the first 100,000 bytes has left. */
async function leavePart(origin: string, partPath: string): Promise<void> {
  const urlHash = createHash('sha256').update(`${origin}/file?signature=x`).digest('hex')
  await writeFile(partPath, video.subarray(0, 100_000))
  await writePartNote(partPath, { urlHash, etag, totalBytes: video.length })
}

test('a broken download goes on where it stopped, without a credential', async () => {
  const { server, file, folder, get } = await setUp((seen, response) => breaking(etag, () => video)(seen, response, 2))
  await leavePart(server.origin, file.partPath)
  expect(await get()).toEqual({ path: file.path, bytes: video.length })
  expect(await readFile(file.path)).toEqual(video)
  expect(server.seen[0]?.headers).toMatchObject({ range: 'bytes=100000-', 'if-range': etag })
  expect(server.seen.every(seen => seen.headers.authorization === undefined)).toBe(true)
  expect(await readdir(folder)).toEqual(['video.mp4'])
})

test('a download that breaks off is taken up again until it is whole', async () => {
  const { server, file, get } = await setUp(breaking(etag, () => video))
  await get()
  expect(server.seen).toHaveLength(2)
  expect(await readFile(file.path)).toEqual(video)
})

test('with a weak tag it starts anew', async () => {
  const { server, file, get } = await setUp(breaking('W/"one"', () => video))
  await get()
  expect(server.seen[1]?.headers.range).toBeUndefined()
  expect(await readFile(file.path)).toEqual(video)
})

test('a file that has changed meanwhile starts anew', async () => {
  const other = Buffer.concat([video, Buffer.alloc(10, 9)])
  let count = 0
  const first = breaking(etag, () => video)
  const second = breaking('"two"', () => other)
  const { file, get } = await setUp((seen, response, times) => (count++ === 0 ? first : second)(seen, response, times))
  await get()
  expect(await readFile(file.path)).toEqual(other)
})

test('a range that was not asked for is not joined, even one of the right length', async () => {
  const { server, file, get } = await setUp((_, response, count) => {
    if (count > 1) return void response.writeHead(200, { etag }).end(video)
    const headers = { etag, 'content-range': `bytes 0-${video.length - 1}/${video.length}` }
    response.writeHead(206, headers).end(Buffer.alloc(video.length - 100_000))
  })
  await leavePart(server.origin, file.partPath)
  await get()
  expect(await readFile(file.path)).toEqual(video)
})

test('what is no video is not kept, and a file that is there is never replaced', async () => {
  const { file, folder, get } = await setUp((_, response) => void response.end('<html>'))
  await expect(get()).rejects.toMatchObject({ kind: 'unreadable' })
  expect(await readdir(folder)).toEqual([])
  const taken = await setUp((_, response) => void response.end(video))
  await writeFile(taken.file.path, 'mine')
  await expect(taken.get()).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await readFile(taken.file.path, 'utf8')).toBe('mine')
  expect(file.path).not.toBe(taken.file.path)
})

test('a gone file is an error of the service; another scheme than https is not asked', async () => {
  const { get, client, file } = await setUp((_, response) => answerJson(response, 410, { error: 'gone' }))
  await expect(get()).rejects.toMatchObject({ kind: 'MEDIA_GONE' })
  for (const url of ['http://127.0.0.1:1/x', 'file:///etc/passwd']) {
    await expect(download(client, url, file)).rejects.toMatchObject({ kind: 'not-allowed' })
  }
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
  const folder = mkdtempSync(join(tmpdir(), 'farebox-download-'))
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
