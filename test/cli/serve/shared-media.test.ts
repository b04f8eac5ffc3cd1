/** Two processes on one database: they deliver each other's media, or do not start. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { VideoQueued } from '#contract/operations/video.ts'
import type { BucketOptions } from '#media/media-options.ts'
import { query } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { withBucketServer } from '../../s3/with-bucket.ts'
import { runCommand } from '../run-command.ts'
import { createKeyIn } from './created-key.ts'
import { type SpawnedServe, spawnServe } from './spawned-serve.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 90_000 })

/** All services on one ledger have the same one. */
const secret = { FAREBOX_SECRET: 'a secret that all services of this test have' }

const video = `
  - id: film
    type: video
    resolutions: [480p]
    aspectRatios: ['16:9']
    durations: [4s]
    delivery: download_url
    price: { perSecondUsd: { 480p: 0.02 } }
    upstreams: [{ engine: demo }]`

const text = `
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]`

const config = (database: string, media: string, models = video) => `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
database: ${database}
${media}
models:${models}
`

const s3 = ({ endpoint, bucket }: BucketOptions) =>
  `media: { s3: { endpoint: '${endpoint}', bucket: ${bucket}, accessKey: '\${S3_KEY}', secretKey: '\${S3_SECRET}' } }`

async function serving(text: string, env: Record<string, string> = {}): Promise<SpawnedServe> {
  const serve = await spawnServe(text, { ...secret, ...env })
  onTestFinished(() => serve.dispose())
  return serve
}

const post = (serve: SpawnedServe, path: string, key: string, body: object) =>
  fetch(`${serve.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })

/** The id of its job, and its address without the service's. */
async function queued(serve: SpawnedServe, key: string): Promise<{ id: string; path: string }> {
  const ask = { model: 'film', prompt: 'a boat', duration: '4s', resolution: '480p', aspect_ratio: '16:9' }
  const answer = VideoQueued.parse(await (await post(serve, '/video/queue', key, ask)).json())
  const { pathname, search } = new URL(answer.download_url ?? '')
  return { id: answer.queue_id, path: pathname + search }
}

const isFinished = async (serve: SpawnedServe, key: string, id: string): Promise<boolean> => {
  const answer = await post(serve, '/video/retrieve', key, { model: 'film', queue_id: id })
  return ((await answer.json()) as { status?: string }).status === 'COMPLETED'
}

async function delivered(serve: SpawnedServe, path: string): Promise<string> {
  const answer = await fetch(`${new URL(serve.baseUrl).origin}${path}`)
  const bytes = Buffer.from(await answer.arrayBuffer())
  return `${answer.status} ${bytes.subarray(4, 8).toString('latin1')} ${bytes.length > 1_000}`
}

const whole = '200 ftyp true'
/** A killed process’s jobs are taken up when their leases end, and a bucket’s outage is waited for. */
const finishMs = { timeout: 180_000, interval: 500 }

withPostgres('two processes with a folder each', cluster => {
  test('that is not the same place: the second does not start, and names the setting', async () => {
    await cluster().asSuperuser('CREATE DATABASE apart OWNER farebox', 'postgres')
    const url = cluster().urlOf('farebox', 'apart')
    const first = await serving(config(url, ''))
    await expect(serving(config(url, ''))).rejects.toThrow(/another place.*`media\.folder` or `media\.s3`/)
    // The same place under another path, and a service without media.
    const shared = join(first.folder, '.farebox', 'service', 'media')
    await serving(config(url, `media: { folder: '${shared}' }`))
    await serving(config(url, '', text))
    const key = await createKeyIn(first.folder, { ...secret, DATABASE_URL: url })
    expect(key).toMatch(/^fb_/)
  })
})

withBucketServer('two processes with a folder each', 'swift', server => {
  withPostgres('and a bucket', cluster => {
    test('deliver every finished video, after kills of either and of the bucket', async () => {
      const url = cluster().url
      const bucket = await server().bucket()
      const env = { S3_KEY: bucket.accessKey, S3_SECRET: bucket.secretKey }
      const start = () => serving(config(url, s3(bucket)), env)
      const [one, two] = [await start(), await start()]
      const key = await createKeyIn(one.folder, { ...secret, DATABASE_URL: url })
      const films = [await queued(one, key), await queued(two, key)]
      const allFinished = (by: SpawnedServe) => async () =>
        (await Promise.all(films.map(({ id }) => isFinished(by, key, id)))).every(Boolean)
      await vi.waitUntil(allFinished(two), finishMs)
      for (const by of [one, two]) for (const { path } of films) expect(await delivered(by, path)).toBe(whole)

      // The bucket goes while films are made, and comes back; one process goes for good.
      films.push(await queued(one, key), await queued(two, key))
      await server().kill()
      films.push(await queued(two, key))
      one.child.kill('SIGKILL')
      await one.ended
      await rm(one.folder, { recursive: true })
      await server().run()
      await vi.waitUntil(allFinished(two), finishMs)
      const three = await start()
      two.child.kill('SIGKILL')
      await two.ended
      for (const { path } of films) expect(await delivered(three, path)).toBe(whole)
    })

    test('lose no accepted video, whenever one of them is killed', async () => {
      await cluster().asSuperuser('CREATE DATABASE killed OWNER farebox', 'postgres')
      const url = cluster().urlOf('farebox', 'killed')
      const bucket = await server().bucket()
      const env = { S3_KEY: bucket.accessKey, S3_SECRET: bucket.secretKey }
      const start = () => serving(config(url, s3(bucket)), env)
      let [one, two] = [await start(), await start()]
      const key = await createKeyIn(one.folder, { ...secret, DATABASE_URL: url })
      const films: { id: string; path: string }[] = []
      // From before its job begins until after its file is in the bucket.
      for (const afterMs of [0, 200, 600, 1_200, 2_000]) {
        films.push(await queued(one, key), await queued(two, key))
        await sleep(afterMs)
        one.child.kill('SIGKILL')
        await one.ended
        await rm(one.folder, { recursive: true })
        ;[one, two] = [two, await start()]
      }
      const finished = async () => (await Promise.all(films.map(({ id }) => isFinished(one, key, id)))).every(Boolean)
      await vi.waitUntil(finished, finishMs)
      for (const by of [one, two]) for (const { path } of films) expect(await delivered(by, path)).toBe(whole)
      // Each is charged once, and the ledger adds up.
      const rows = await query(url, `SELECT kind, count(*)::int FROM farebox.entry GROUP BY kind ORDER BY kind`)
      expect(rows).toEqual([
        { kind: 'CHARGE', count: films.length },
        { kind: 'GRANT', count: 1 },
      ])
      expect((await runCommand(['ledger', 'audit', '--data', one.folder], { DATABASE_URL: url })).code).toBe(0)
    })
  })
})
