import { afterEach, beforeEach, expect, test } from 'vitest'
import { createKey } from '#access/keys/api-keys.ts'
import { microUsd } from '#contract/money.ts'
import { VideoQueued, VideoQuote } from '#contract/operations/video.ts'
import type { JobProgress, VideoEngine } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { closeSound } from '../close-sound.ts'
import { type OpenedService, openService } from '../open-service.ts'

const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const ask = { model: 'demo-video', prompt: 'A lighthouse in fog', duration: '2s', resolution: '360p', audio: false }

class TellableVideo implements VideoEngine {
  readonly carries = () => true
  verdict: JobProgress = { state: 'running', engineState: { at: 'engine' } }
  start = async () => this.verdict
  poll = async () => this.verdict
}

let video: TellableVideo
let service: OpenedService
beforeEach(async () => {
  video = new TellableVideo()
  service = await openService({ video, stakes: { stakeOf: async () => 10_000n } })
})
afterEach(async () => {
  const report = await audit(service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  await closeSound(service)
})

async function commit(op: Op): Promise<void> {
  const [outcome] = await service.store.commit([{ id: uuidV7(service.clock.now()), ops: [op] }])
  expect(outcome?.ok).toBe(true)
}

/** A customer with 1 USD, and with a wallet whose stake gives a hundredth of one each day. */
async function customer(budget?: KeyBudget): Promise<{ key: string; account: string }> {
  const { clock, service: running } = service
  const order = { amountMicroUsd: 1_000_000n, label: '', ...(budget ? { budget } : {}) }
  const made = await createKey({ keys: running.keys, now: () => clock.now() }, order)
  await commit({ op: 'wallet', wallet: `0x${'57'.repeat(20)}`, account: made.account, atMs: clock.now() })
  return made
}

const booked = async () =>
  (await service.store.read.selectFrom('entry').select(['kind', 'effect']).orderBy('seq').execute())
    .filter(row => row.kind !== 'GRANT')
    .map(row => `${row.kind} ${row.effect}`)

const quoteOf = async (key: string, body: object) =>
  VideoQuote.parse(await (await service.post('/video/quote', body, key)).json()).quote

const day = async () => service.store.read.selectFrom('staking_credit').selectAll().executeTakeFirst()

test('a queued video is charged its quote at once, staking credit first', async () => {
  const { key } = await customer()
  expect(await quoteOf(key, { ...ask, prompt: undefined })).toBe(0.03)
  VideoQueued.parse(await (await service.post('/video/queue', ask, key)).json())
  expect(await booked()).toEqual(['STAKING 10000', 'CHARGE -30000'])
  expect(await service.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
})

test('one that fails is refunded once, to where its charge came from', async () => {
  const budget: KeyBudget = { period: 'month', usd: microUsd(25_000), staking: null }
  const { key } = await customer(budget)
  const queued = VideoQueued.parse(await (await service.post('/video/queue', ask, key)).json())
  expect((await service.post('/video/queue', ask, key)).status).toBe(402)
  video.verdict = { state: 'failed', reason: 'It could not.' }
  const state = async () => (await service.store.read.selectFrom('job').select('state').executeTakeFirst())?.state
  await expect.poll(state).toBe('failed')
  expect(await booked()).toEqual(['STAKING 10000', 'CHARGE -30000', 'REFUND 30000', 'STAKING -10000'])
  expect(await day()).toMatchObject({ granted_usd: 10_000n, spent_usd: 0n, held_usd: 0n })
  const body = { model: ask.model, queue_id: queued.queue_id }
  expect((await service.post('/video/retrieve', body, key)).status).toBe(500)
  expect((await booked()).length).toBe(4)
  // The key's period has it back as well.
  expect((await service.post('/video/queue', ask, key)).status).toBe(200)
})

test('one whose engine gives no verdict keeps its charge for a day, and is refunded once after it', async () => {
  const { key } = await customer()
  VideoQueued.parse(await (await service.post('/video/queue', ask, key)).json())
  const { store, clock } = service
  const job = async () => store.read.selectFrom('job').select(['state', 'fence']).executeTakeFirstOrThrow()
  await expect.poll(async () => (await job()).state).toBe('running')
  const before = await job()
  clock.pass(3 * 60 * 60 * 1000)
  // It was looked after since: its lease was renewed.
  await expect.poll(async () => (await job()).fence).toBeGreaterThan(before.fence)
  expect([(await job()).state, await booked()]).toEqual(['running', ['STAKING 10000', 'CHARGE -30000']])
  clock.pass(22 * 60 * 60 * 1000)
  await expect.poll(async () => (await job()).state).toBe('failed')
  expect((await booked()).slice(2)).toEqual(['REFUND 30000', 'STAKING -10000'])
}, 20_000)

test.each<[rule: string, body: object, status: number]>([
  ['an image of a person without consent', { image_url: image }, 409],
  ['a resolution that has no price', { resolution: '2160p' }, 400],
  ['a length that has no price', { duration: '30s' }, 400],
  ['an option that would change the price and is not built', { upscale_factor: 2 }, 400],
])('%s is refused before anything is held', async (_rule, change, status) => {
  const { key } = await customer()
  expect((await service.post('/video/queue', { ...ask, ...change }, key)).status).toBe(status)
  expect(await booked()).toEqual([])
  expect(await service.store.read.selectFrom('ended_hold').selectAll().execute()).toEqual([])
})

test('a key without the budget, and a read-only ledger, queue nothing', async () => {
  const { key } = await customer({ period: 'lifetime', usd: microUsd(1_000), staking: null })
  const refused = await service.post('/video/queue', ask, key)
  expect([refused.status, await refused.json()]).toMatchObject([
    402,
    {
      error: expect.stringContaining('API key USD spend limit exceeded.'),
      budget: { left: 0.001, startsAnewAt: null },
    },
  ])
  await commit({ op: 'ledger', state: 'read_only', reason: 'By hand.', atMs: service.clock.now() })
  const other = await service.key(1)
  expect((await service.post('/video/queue', ask, other)).status).toBe(503)
  expect(await service.store.read.selectFrom('job').selectAll().execute()).toEqual([])
})
