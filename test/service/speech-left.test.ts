/** Streamed speech costs what its engine was asked to speak, even if the caller has left. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { audit } from '#ledger/audit/audit.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { SpeechModel } from '#service/models/model.ts'
import { type OpenedService, openService } from './open-service.ts'
import { ScriptedSpeech } from './scripted-audio.ts'

/** One sentence of 3,999 characters, which takes an engine longer than any pause. */
const sentence = 'word '.repeat(800).trim()

const speech = new ScriptedSpeech()
let service: OpenedService
beforeAll(async () => {
  service = await openService({
    models: engines =>
      demoModels(engines).flatMap(model =>
        model.type === 'tts' ? [{ ...model, engine: speech } satisfies SpeechModel] : [],
      ),
  })
})
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  speech.asked = []
})
afterEach(async () => {
  vi.useRealTimers()
  await expect.poll(holds).toBe(0)
  expect((await audit(service.database)).findings).toEqual([])
})
afterAll(() => service.close())

const holds = async () => (await service.store.read.selectFrom('hold').select('id').execute()).length
const keys = () => service.service.keys.list()

async function charged(account: string): Promise<bigint[]> {
  const entries = service.store.read.selectFrom('entry').select('units')
  const charges = await entries.where('kind', '=', 'CHARGE').where('account', '=', account).execute()
  return charges.map(({ units }) => units ?? 0n)
}

/** Speech whose engine speaks until `spoken`; `account` pays it. */
async function begin(input = sentence) {
  const key = await service.key(10)
  const [record] = (await keys()).toSorted((one, other) => (one.id < other.id ? 1 : -1))
  const spoken = Promise.withResolvers<Buffer>()
  speech.result = () => spoken.promise
  const client = new AbortController()
  const answer = service.request('/api/v1/audio/speech', {
    method: 'POST',
    signal: client.signal,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'demo-speech', input, streaming: true, response_format: 'wav' }),
  })
  answer.catch(() => undefined)
  await expect.poll(() => speech.asked.length).toBe(1)
  return { answer, client, spoken, keyId: record?.id ?? '', account: record?.account ?? '' }
}

/** A way to leave the stream. */
type Leaving = (begun: Awaited<ReturnType<typeof begin>>) => Promise<void>

const callerLeaves: Leaving = async ({ client }) => client.abort()
const keyEnds: Leaving = async ({ answer, keyId }) => {
  await service.service.keys.revoke(keyId)
  service.clock.pass(2_000)
  expect((await answer).status).toBe(401)
}

test.each<[how: string, leave: Leaving]>([
  ['whose caller leaves', callerLeaves],
  ['whose key ends', keyEnds],
])('a sentence %s is spoken to its end, however long it takes, and charged', async (_how, leave) => {
  const begun = await begin()
  await leave(begun)
  await vi.advanceTimersByTimeAsync(20 * 60_000)
  expect([speech.asked[0]?.signal.aborted, await holds()]).toEqual([false, 1])
  begun.spoken.resolve(Buffer.alloc(10))
  await expect.poll(holds).toBe(0)
  expect(await charged(begun.account)).toEqual([3_999n])
})

test.each<[how: string, leave: Leaving]>([
  ['whose caller leaves', callerLeaves],
  ['whose key ends', keyEnds],
])('no further sentence is begun %s, and none is owed that failed', async (_how, leave) => {
  for (const isFailing of [false, true]) {
    speech.asked = []
    const begun = await begin('This is one. And two.')
    await leave(begun)
    if (isFailing) begun.spoken.reject(inferenceFailed())
    else begun.spoken.resolve(Buffer.alloc(10))
    await expect.poll(holds).toBe(0)
    expect([speech.asked.length, await charged(begun.account)]).toEqual([1, isFailing ? [] : [13n]])
  }
})

test('a sentence that is never spoken is given up after three quarters of an hour', async () => {
  const { client, account } = await begin()
  client.abort()
  await vi.advanceTimersByTimeAsync(46 * 60_000)
  await expect.poll(holds).toBe(0)
  expect([speech.asked[0]?.signal.aborted, await charged(account)]).toEqual([true, []])
})

test('speech that was heard to its end leaves nothing behind that would keep a process alive', async () => {
  const { answer, spoken } = await begin('This is one. And two.')
  spoken.resolve(Buffer.alloc(10))
  expect((await (await answer).arrayBuffer()).byteLength).toBeGreaterThan(10)
  await expect.poll(holds).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})
