import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { VideoQueued, VideoStatus } from '#contract/operations/video.ts'
import type { JobProgress, VideoEngine } from '#engines/ports/media-engines.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { FolderMediaStore } from '#media/media-store.ts'
import { DownloadLinks, expireMedia } from '#service/jobs/finished-media.ts'
import { StoredJobs } from '#service/jobs/stored-jobs.ts'
import { Catalogue } from '#service/models/catalogue.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { VideoModel } from '#service/models/model.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type OpenedService, openService, TestClock } from '../open-service.ts'

let folder: string
let clock: TestClock
let opened: OpenedService[] = []
beforeEach(() => {
  folder = temporaryFolder('jobs')
  clock = new TestClock()
})
afterEach(async () => {
  for (const service of opened.splice(0)) await service.close()
})

const open = async (options: Parameters<typeof openService>[0] = {}) => {
  const service = await openService({ folder, clock, ...options })
  opened.push(service)
  return service
}

const ask = { prompt: 'A lighthouse in fog', duration: '2s', resolution: '360p', audio: false } as const

class TellableVideo implements VideoEngine {
  readonly carries = () => true
  verdict: JobProgress = { state: 'running', engineState: { at: 'engine' } }
  start = async () => this.verdict
  poll = async () => this.verdict
}

const queue = async (service: OpenedService, key: string, model = 'demo-video') =>
  VideoQueued.parse(await (await service.post('/video/queue', { model, ...ask }, key)).json())

const retrieve = (service: OpenedService, { model, queue_id }: { model: string; queue_id: string }, key: string) =>
  service.post('/video/retrieve', { model, queue_id }, key)

test('a job that was refunded by hand still fails, once, and the operator reads of it', async () => {
  const video = new TellableVideo()
  const service = await open({ video })
  const { queue_id: request } = await queue(service, await service.key(1))
  const atMs = clock.now()
  const refund = { op: 'refund', request, reason: 'By hand.', atMs } as const
  expect((await service.store.commit([{ id: uuidV7(atMs), ops: [refund] }]))[0]?.ok).toBe(true)
  video.verdict = { state: 'failed', reason: 'It could not.' }
  await expect
    .poll(() => service.logged.filter(line => line.level === 'error'))
    .toMatchObject([{ facts: { jobId: request } }])
  const job = await service.store.read.selectFrom('job').select(['state', 'failure']).executeTakeFirstOrThrow()
  expect(job).toEqual({ state: 'failed', failure: JSON.stringify({ reason: 'It could not.', contentPolicy: false }) })
  const refunds = service.store.read.selectFrom('entry').select('id').where('kind', '=', 'REFUND')
  expect(await refunds.execute()).toHaveLength(1)
})

/** Applies a unit and then loses its outcome, once. */
function losingOneOutcome(store: Store): Store {
  let lost = false
  return {
    ...store,
    async commit(units) {
      const outcomes = await store.commit(units)
      if (lost) return outcomes
      lost = true
      throw new Error('the outcome was lost')
    },
  }
}

async function principalOf({ store }: OpenedService): Promise<Principal> {
  const { id, account } = await store.read.selectFrom('api_key').select(['id', 'account']).executeTakeFirstOrThrow()
  return { kind: 'key', account, keyId: id, plan: 'default' }
}

test('a hold whose outcome was lost is asked for again, and held once', async () => {
  const service = await open()
  await service.key(1)
  const principal = await principalOf(service)
  const store = losingOneOutcome(service.store)
  const charges = new Charges({ store, clock, owner: 'test', funding: new Funding({ store, clock }) })
  const order = { request: uuidV7(clock.now()), principal, model: null, amount: microUsd(250_000) }
  const charge = await charges.open(order)
  expect(charge.heldAvailableMicroUsd).toBe(750_000n)
  await charge.release()
  await charges.drain()
})

test('a video whose acceptance was lost is accepted again, and charged once', async () => {
  const models: VideoModel[] = []
  const service = await open({
    video: new TellableVideo(),
    models: engines => {
      const all = demoModels(engines)
      models.push(...all.filter(model => model.type === 'video'))
      return all
    },
  })
  await service.key(1)
  const [model] = models
  if (!model) throw new Error('There is a video model.')
  const jobs = new StoredJobs({
    store: losingOneOutcome(service.store),
    clock,
    catalogue: new Catalogue(models, { ownedBy: 'test' }),
    media: new FolderMediaStore(join(folder, 'media')),
    links: new DownloadLinks('http://127.0.0.1:8402', ['a secret']),
    funding: new Funding({ store: service.store, clock }),
    owner: 'test',
    onAccepted: () => undefined,
  })
  const line = { sku: 'video', units: 1n, unitPricePicoUsd: 250_000_000_000n, amount: microUsd(250_000) }
  const accepted = await jobs.accept({
    requestId: uuidV7(clock.now()),
    principal: await principalOf(service),
    model,
    request: { model: model.id, ...ask },
    price: { total: microUsd(250_000), lines: [line] },
  })
  expect(accepted.availableMicroUsd).toBe(750_000n)
})

test.each(['demo-video', 'demo-video-url'])(
  'a finished video of %s is delivered as promised after its model has left the catalogue',
  async model => {
    const service = await open()
    const key = await service.key(1)
    const queued = await queue(service, key, model)
    await finished(service, queued.queue_id)
    await service.service.close()
    await service.store.close()
    opened = []
    const next = await open({ models: engines => demoModels(engines).filter(({ id }) => !id.includes('video')) })
    const answer = await retrieve(next, queued, key)
    expect(answer.status).toBe(200)
    if (model === 'demo-video') return expect(answer.headers.get('content-type')).toBe('video/mp4')
    expect(VideoStatus.parse(await answer.json()).status).toBe('COMPLETED')
    const { pathname, search } = new URL(queued.download_url ?? '')
    expect((await next.request(pathname + search)).status).toBe(200)
  },
)

test('a file that cannot be deleted keeps no other from being deleted', async () => {
  const service = await open()
  const key = await service.key(1)
  const names: string[] = []
  for (let index = 0; index < 2; index++) {
    const { queue_id: id } = await queue(service, key)
    await finished(service, id)
    names.push(`${id}.mp4`)
  }
  const media = new FolderMediaStore(join(folder, 'media'))
  const refusing = {
    delete: (name: string) => (name === names[0] ? Promise.reject(new Error('no')) : media.delete(name)),
  }
  clock.pass(25 * 60 * 60 * 1000)
  await expect(expireMedia(service.store, refusing, clock)).rejects.toThrow('no')
  expect(await media.find(names[1] ?? '')).toBeNull()
})

async function finished(service: OpenedService, id: string): Promise<void> {
  const state = async () =>
    (await service.store.read.selectFrom('job').select('state').where('id', '=', id).executeTakeFirst())?.state
  await expect.poll(state, { timeout: 20_000 }).toBe('completed')
}
