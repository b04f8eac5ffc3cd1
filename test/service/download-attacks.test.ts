/** A download address is all that its bearer has to show, so it says one job until one moment, and nothing else. */

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import { DownloadLinks } from '#service/jobs/finished-media.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

const ask = { model: 'demo-video-url', prompt: 'A lighthouse', duration: '2s', resolution: '360p', audio: false }
let service: OpenedService
let key: string
let mine: URL
let other: URL
let bytes: number

beforeAll(async () => {
  service = await openService()
  key = await service.key(1)
  mine = await finished()
  other = await finished()
  bytes = (await (await fetched(mine)).arrayBuffer()).byteLength
}, 60_000)
afterAll(async () => {
  await closeSound(service)
})

const fetched = (url: URL, init?: RequestInit) => service.request(`${url.pathname}${url.search}`, init)

async function finished(): Promise<URL> {
  const queued = VideoQueued.parse(await (await service.post('/video/queue', ask, key)).json())
  const url = new URL(queued.download_url ?? '')
  const isDone = async () => {
    const answer = await service.post('/video/retrieve', { model: ask.model, queue_id: queued.queue_id }, key)
    expect(await answer.json()).toMatchObject({ status: 'COMPLETED' })
  }
  await vi.waitFor(isDone, { timeout: 30_000, interval: 500 })
  service.clock.pass(60_000)
  return url
}

const changed = (change: Record<string, string>, path = mine.pathname) => {
  const url = new URL(path, mine)
  for (const [name, value] of Object.entries({ ...Object.fromEntries(mine.searchParams), ...change }))
    url.searchParams.set(name, value)
  return url
}

async function refusals(urls: readonly URL[]): Promise<number[]> {
  const answers: number[] = []
  for (const url of urls)
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      // Guessing is blocked by itself; what is tried here is each guess.
      service.clock.pass(30_000)
      answers.push((await fetched(url, { method })).status)
    }
  return [...new Set(answers)]
}

test('G15: no character of a signature can be another one', async () => {
  const signature = mine.searchParams.get('signature') ?? ''
  const forged = [...signature].map((character, at) =>
    changed({ signature: `${signature.slice(0, at)}${character === 'A' ? 'B' : 'A'}${signature.slice(at + 1)}` }),
  )
  expect(forged.length).toBeGreaterThan(40)
  expect(await refusals(forged)).toEqual([404])
  const other = ['', signature.slice(1), `${signature}=`, `${signature} `, signature.toLowerCase(), `x${signature}`]
  expect(await refusals(other.map(each => changed({ signature: each })))).toEqual([404])
})

test('G15: its time cannot be extended, nor written otherwise', async () => {
  const expires = mine.searchParams.get('expires') ?? ''
  const others = [
    `${Number(expires) + 1}`,
    `${expires}0`,
    `0${expires}`,
    `${expires}.0`,
    ` ${expires}`,
    '1e15',
    '-1',
    '',
  ]
  expect(await refusals(others.map(each => changed({ expires: each })))).toEqual([404])
})

test('G15: it serves no other job, and one of another secret serves none', async () => {
  const [, , job = ''] = mine.pathname.split('/')
  const foreign = new DownloadLinks(mine.origin, ['x'.repeat(32)])
  const expiresAtMs = Number(mine.searchParams.get('expires'))
  const signedElsewhere = new URL(foreign.url({ jobId: job, expiresAtMs }))
  expect(await refusals([changed({}, other.pathname), signedElsewhere, changed({}, `${mine.pathname}.mp4`)])).toEqual([
    404,
  ])
  for (const method of ['POST', 'PUT', 'PATCH']) expect((await fetched(mine, { method })).status).toBe(404)
})

test('G15: what comes is a video to be saved, by a name of ours, and leads nowhere', async () => {
  const { status, headers } = await fetched(changed({ redirect: 'http://evil.example/', filename: 'evil.html' }))
  expect([status, headers.get('content-type'), headers.get('x-content-type-options'), headers.get('location')]).toEqual(
    [...[200, 'video/mp4', 'nosniff', null]],
  )
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[0-9a-f-]{36}\.mp4"$/)
  expect(headers.get('content-length')).toBe(`${bytes}`)
})

test('G15: it ends with its day, whatever is asked', async () => {
  service.clock.pass(24 * 60 * 60 * 1000)
  expect(await refusals([mine, other])).toEqual([410])
})
