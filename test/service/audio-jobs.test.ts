import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { AudioQueued, AudioStatus } from '#contract/operations/audio.ts'
import { audioTypeOf } from '#engines/audio/recording.ts'
import { DemoMusic } from '#engines/demo/audio.ts'
import type { JobProgress, MusicCall, MusicEngine } from '#engines/ports/media-engines.ts'
import { demoModels, demoMusic } from '#service/models/demo-models.ts'
import type { MusicModel } from '#service/models/model.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

let folder: string

/** Ends when a test says so, and remembers what it was asked. */
class ScriptedMusic implements MusicEngine {
  readonly carries = () => true
  asked: MusicCall[] = []
  verdict: (call: MusicCall) => Promise<JobProgress> | JobProgress = () => ({
    state: 'running',
    engineState: { at: 1 },
  })

  async start(call: MusicCall): Promise<JobProgress> {
    this.asked.push(call)
    return this.verdict(call)
  }

  async poll(call: MusicCall): Promise<JobProgress> {
    return this.verdict(call)
  }
}

const engine = new ScriptedMusic()
const running = engine.verdict

async function finished({ jobId }: MusicCall): Promise<Extract<JobProgress, { state: 'completed' }>> {
  const path = join(folder, `${jobId}.made`)
  await writeFile(path, 'fLaC music')
  return { state: 'completed', path, mimeType: 'audio/flac' }
}

const scripted: MusicModel = {
  ...demoMusic(engine),
  traits: [],
  id: 'song',
  engineModel: 'inner',
  durations: { options: [10, 30], default: 30 },
  promptCharacters: { least: 3, most: 100 },
  lyrics: { characters: 50, areRequired: true },
  voices: ['anna', 'bert'],
  hasLanguageCode: true,
  hasLyricsOptimizer: true,
  speed: { least: 0.5, most: 2, default: 1 },
  formats: ['flac'],
}

const { lyrics: _lyrics, speed: _speed, ...withoutChoices } = scripted

const plain: MusicModel = {
  ...withoutChoices,
  id: 'sound',
  voices: [],
  hasInstrumental: false,
  hasLyricsOptimizer: false,
  hasLanguageCode: false,
  price: { per: 'generation', microUsd: microUsd(500_000) },
}

let service: OpenedService
let key: string
beforeAll(async () => {
  folder = temporaryFolder('music')
  service = await openService({
    models: engines => [
      ...demoModels({ ...engines, music: new DemoMusic({ workFolder: folder }) }),
      scripted,
      plain,
      { ...plain, id: 'worded', price: { per: 'thousand-characters', microUsd: microUsd(2_000) } },
    ],
  })
  key = await service.key(20)
})
beforeEach(() => {
  engine.verdict = running
  // Each test has the minute's limit for itself.
  service.clock.pass(60_000)
})
afterAll(async () => {
  engine.verdict = () => ({ state: 'failed', reason: 'over' })
  await closeSound(service)
})

const ask = { model: 'song', prompt: 'A slow waltz', lyrics_prompt: 'la la' }

const post = (path: string, body: object, credential = key) => service.post(`/audio/${path}`, body, credential)

const charges = (kind: 'CHARGE' | 'REFUND') =>
  service.store.read.selectFrom('entry').selectAll().where('kind', '=', kind).execute()

async function queued(body: object): Promise<string> {
  const response = await post('queue', body)
  expect(response.status).toBe(200)
  const answer = AudioQueued.parse(await response.json())
  expect(answer).toEqual({ model: (body as { model: string }).model, queue_id: answer.queue_id, status: 'QUEUED' })
  return answer.queue_id
}

/** Asks after a job until it is no longer being made. */
async function ended(job: { model: string; queue_id: string }): Promise<Response> {
  return vi.waitFor(
    async () => {
      const response = await post('retrieve', job)
      // The limit of a minute is no part of this.
      service.clock.pass(1_000)
      if (response.headers.get('content-type')?.startsWith('application/json') && response.status === 200) {
        throw new Error('It is still being made.')
      }
      return response
    },
    { timeout: 20_000, interval: 50 },
  )
}

describe('§8.4 the life of a job', () => {
  test('queued at its quote, asked after, fetched, and deleted', async () => {
    const before = (await charges('CHARGE')).length
    const queue_id = await queued({ ...ask, duration_seconds: '10', voice: 'bert', language_code: 'de', speed: 2 })
    const lines = (await charges('CHARGE')).slice(before)
    expect(lines.map(({ sku, units, amount }) => [sku, units, amount])).toEqual([['music.second', 10n, 10_000n]])
    const job = { model: 'song', queue_id }
    const status = await post('retrieve', job)
    expect(AudioStatus.parse(await status.json()).status).toBe('PROCESSING')
    expect(await (await post('complete', job)).json()).toEqual({ success: false })
    engine.verdict = finished
    const done = await ended(job)
    expect([done.status, done.headers.get('content-type'), await done.text()]).toEqual([
      200,
      'audio/flac',
      'fLaC music',
    ])
    expect(done.headers.get('content-disposition')).toBe(`attachment; filename="${queue_id}.flac"`)
    expect(engine.asked.at(-1)).toMatchObject({
      ...{ engineModel: 'inner', jobId: queue_id },
      request: {
        ...{ prompt: 'A slow waltz', lyrics: 'la la', seconds: 10, isInstrumental: false, writesLyrics: false },
        ...{ voice: 'bert', languageCode: 'de', speed: 2 },
      },
    })
    expect(await (await post('complete', job)).json()).toEqual({ success: true })
    expect((await post('retrieve', job)).status).toBe(404)
  })

  test('the engine may delete its copy once ours is stored with the finished job', async () => {
    const states: unknown[] = []
    engine.verdict = async call => {
      const release = async () => {
        const job = service.store.read.selectFrom('job').select(['state', 'result']).where('id', '=', call.jobId)
        states.push(await job.executeTakeFirstOrThrow())
      }
      return { ...(await finished(call)), release }
    }
    await ended({ model: 'song', queue_id: await queued(ask) })
    await vi.waitFor(() => expect(states).toEqual([{ state: 'completed', result: expect.stringContaining('.flac') }]))
  })

  test('deleted once it has been delivered, where that was asked for', async () => {
    engine.verdict = finished
    const job = { model: 'song', queue_id: await queued(ask) }
    const done = await ended({ ...job, ...{ delete_media_on_completion: true } })
    expect(await done.text()).toBe('fLaC music')
    await vi.waitFor(async () => expect((await post('retrieve', job)).status).toBe(404), { timeout: 20_000 })
  })

  test('one that fails is refunded once, and says why', async () => {
    engine.verdict = () => ({ state: 'failed', reason: 'The words are not allowed.', contentPolicy: true })
    const before = (await charges('REFUND')).length
    const response = await ended({ model: 'song', queue_id: await queued(ask) })
    expect([response.status, await response.json()]).toEqual([
      422,
      { error: 'The words are not allowed. The charge was refunded.' },
    ])
    expect((await charges('REFUND')).slice(before).map(({ amount }) => amount)).toEqual([30_000n])
  })

  test('a file of an unsupported type does not decide a job', async () => {
    engine.verdict = async call => ({ ...(await finished(call)), mimeType: 'text/html' }) as JobProgress
    const job = { model: 'song', queue_id: await queued(ask) }
    await vi.waitFor(
      () => expect(service.logged.some(({ message }) => message.startsWith('A job could not be polled'))).toBe(true),
      { timeout: 20_000 },
    )
    expect((await post('retrieve', job)).status).toBe(200)
    service.logged.length = 0
  })

  test('the same key is one job', async () => {
    const send = () =>
      service.request('/api/v1/audio/queue', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'song' },
        body: JSON.stringify(ask),
      })
    const [first, second] = [await send(), await send()]
    expect(await second.json()).toEqual(await first.json())
    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })

  test('another account’s job, and one of the other type, are answered as unknown', async () => {
    const job = { model: 'song', queue_id: await queued(ask) }
    const stranger = await service.key(1)
    for (const path of ['retrieve', 'complete']) {
      expect((await post(path, job, stranger)).status).toBe(400)
      expect((await post(path, { ...job, model: 'sound' })).status).toBe(400)
      expect((await service.post(`/video/${path}`, job, key)).status).toBe(400)
      expect((await post(path, { ...job, model: 'demo-video' })).status).toBe(400)
    }
  })
})

describe('§8.4 POST /audio/quote', () => {
  test.each([
    ['song', {}, 0.03],
    ['song', { duration_seconds: 10 }, 0.01],
    ['song', { duration_seconds: '10' }, 0.01],
    ['sound', { character_count: 7 }, 0.5],
    ['worded', { character_count: 1_500 }, 0.003],
  ])('%s with %j costs %d, for every caller', async (model, size, quote) => {
    const response = await service.post('/audio/quote', { model, ...size })
    expect([response.status, await response.json()]).toEqual([200, { quote }])
  })

  test.each([
    ['no characters where they are the price', { model: 'worded' }, 400, 'character_count'],
    ['a duration of other models', { model: 'song', duration_seconds: 11 }, 400, 'allowed values: 10, 30'],
    ['no duration at all', { model: 'song', duration_seconds: 0 }, 400, 'duration_seconds'],
    ['a model of another type', { model: 'demo-video' }, 404, 'Specified model not found'],
  ])('%s', async (_rule, body, status, says) => {
    const response = await service.post('/audio/quote', body)
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
  })

  test('what is charged by characters is those of the prompt', async () => {
    const before = (await charges('CHARGE')).length
    await queued({ model: 'worded', prompt: 'Rain' })
    const lines = (await charges('CHARGE')).slice(before)
    expect(lines.map(({ sku, units, amount }) => [sku, units, amount])).toEqual([['music.character', 4n, 8n]])
  })
})

const refusals: [rule: string, body: object, status: number, says: string][] = [
  ['no prompt', { model: 'song' }, 400, '"path":["prompt"]'],
  ['a prompt too short', { ...ask, prompt: 'x' }, 400, 'song accepts 3 to 100'],
  ['a prompt too long', { ...ask, prompt: 'x'.repeat(101) }, 400, 'song accepts 3 to 100'],
  ['a duration of other models', { ...ask, duration_seconds: 20 }, 400, 'allowed values: 10, 30'],
  ['a duration out of a range', { model: 'demo-music', prompt: 'x', duration_seconds: 31 }, 400, '1 to 30 seconds'],
  ['lyrics that are missing', { model: 'song', prompt: 'A waltz' }, 400, 'song needs lyrics'],
  ['lyrics too long', { ...ask, lyrics_prompt: 'x'.repeat(51) }, 400, 'song accepts 1 to 50'],
  ['lyrics on a model without', { ...ask, model: 'sound' }, 400, 'does not support lyrics_prompt'],
  ['a voice of other models', { ...ask, voice: 'eve' }, 400, 'allowed values: anna, bert'],
  ['a voice on a model without', { model: 'sound', prompt: 'Rain', voice: 'eve' }, 400, 'does not support voice'],
  [
    'no voices',
    { model: 'sound', prompt: 'Rain', force_instrumental: true },
    400,
    'does not support force_instrumental',
  ],
  [
    'lyrics by itself',
    { model: 'sound', prompt: 'Rain', lyrics_optimizer: true },
    400,
    'does not support lyrics_optimizer',
  ],
  ['a language', { model: 'sound', prompt: 'Rain', language_code: 'de' }, 400, 'does not support language_code'],
  ['a speed', { model: 'sound', prompt: 'Rain', speed: 2 }, 400, 'does not support speed'],
  ['a speed of other models', { ...ask, speed: 3 }, 400, 'song accepts 0.5 to 2'],
  ['a model of another type', { ...ask, model: 'demo-video' }, 404, 'Specified model not found'],
]
test.each(refusals)('%s is refused before anything is charged', async (_rule, body, status, says) => {
  const before = (await charges('CHARGE')).length
  const response = await post('queue', body, await service.key(1))
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
  expect(await charges('CHARGE')).toHaveLength(before)
})

test('too little credit, and no credentials', async () => {
  expect((await post('queue', ask, await service.key(0.01))).status).toBe(402)
  const response = await service.post('/audio/queue', ask)
  expect([response.status, response.headers.has('payment-required')]).toEqual([402, true])
})

test('§11.4, forty a minute and a hundred and twenty', async () => {
  const many = await service.key(1)
  const last = async (path: string, body: object, count: number) => {
    let response = await post(path, body, many)
    for (let sent = 1; sent < count; sent++) response = await post(path, body, many)
    return response.headers.get('x-ratelimit-limit-requests')
  }
  expect(await last('queue', { model: 'demo-music', prompt: 'x', duration_seconds: 1 }, 1)).toBe('40')
  expect(await last('retrieve', { model: 'song', queue_id: 'none' }, 1)).toBe('120')
})

test('§6.1 a music model states what it accepts', async () => {
  const response = await service.request('/api/v1/models?type=music')
  const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] }
  expect(data.find(({ id }) => id === 'song')?.model_spec).toMatchObject({
    duration_options: [10, 30],
    default_duration: 30,
    supports_lyrics: true,
    lyrics_required: true,
    lyrics_character_limit: 50,
    default_voice: 'anna',
    min_speed: 0.5,
    prompt_character_limit: 100,
    supported_formats: ['flac'],
    pricing: { per_second: { usd: 0.001, diem: 0.001 } },
  })
})

test('the demonstration plays for as long as it was paid for, the same for the same words', async () => {
  const play = async (prompt: string) => {
    const job = { model: 'demo-music', queue_id: await queued({ model: 'demo-music', prompt, duration_seconds: 2 }) }
    return Buffer.from(await (await ended(job)).arrayBuffer())
  }
  const [first, same, other] = [await play('A waltz'), await play('A waltz'), await play('A march')]
  expect(audioTypeOf(first)).toBe('mp3')
  expect([same.equals(first), other.equals(first)]).toEqual([true, false])
}, 60_000)
