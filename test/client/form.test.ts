import { afterAll, beforeAll, expect, test } from 'vitest'
import { Client } from '#client/client.ts'
import { createTranscription } from '#contract/operations/audio.ts'
import { wavOf } from '#engines/audio/recording.ts'
import { closeSound } from '../service/close-sound.ts'
import { type OpenedService, openService } from '../service/open-service.ts'

let service: OpenedService
let client: Client
beforeAll(async () => {
  service = await openService()
  client = new Client({
    baseUrl: 'http://127.0.0.1:8402/api/v1',
    credential: { apiKey: await service.key(1) },
    fetch: async request => service.service.app.fetch(request),
  })
})
afterAll(async () => {
  await client.close()
  await closeSound(service)
})

const wav = wavOf({ samples: new Int16Array(16_000), rate: 8_000 })
const call = {
  params: undefined,
  query: undefined,
  body: { model: 'demo-asr', timestamps: false, file: new File([new Uint8Array(wav)], 'sound.wav') },
}

test('a call with a file goes as a form, whose other fields are texts', async () => {
  const { answer } = await client.call(createTranscription, call)
  expect(answer).toEqual({ text: expect.stringContaining('wav audio of 2.0 seconds'), duration: 2 })
})

test('the same call under the same key is the same request, whatever boundary it was written with', async () => {
  const ask = () => client.call(createTranscription, call, { idempotencyKey: 'form' })
  expect((await ask()).answer).toEqual((await ask()).answer)
  const entries = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  expect(entries).toHaveLength(2)
})
