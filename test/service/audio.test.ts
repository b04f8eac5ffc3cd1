import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type SpeechFormat, Transcription, Voice } from '#contract/operations/audio.ts'
import { audioTypeOf, wavHeader, wavOf, wavSeconds } from '#engines/audio/recording.ts'
import { voiceMs } from '#service/capabilities/audio/recordings.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model, SpeechModel, TranscriptionModel } from '#service/models/model.ts'
import { drawn, made, played } from '../media/made-media.ts'
import { tracksOf } from '../media/tracks-of.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'
import { ScriptedSpeech, ScriptedTranscription } from './scripted-audio.ts'
import { wavOfChunks } from './wav-of-chunks.ts'

const speech = new ScriptedSpeech()
const hearing = new ScriptedTranscription()
const asIs = [speech.result, hearing.result, speech.cloned] as const

const scripted = (demo: readonly Model[]): Model[] => {
  const tts = demo.find((each): each is SpeechModel => each.type === 'tts')
  const asr = demo.find((each): each is TranscriptionModel => each.type === 'asr')
  if (!tts || !asr) throw new Error('There are no models of sound.')
  const plain: SpeechModel = { ...tts, traits: [], id: 'plain', engine: speech, hasSpeed: false, languages: [] }
  return [
    ...demo,
    plain,
    {
      ...{ ...plain, id: 'voiced', voices: ['anna', 'bert'], hasSpeed: true, hasStyle: true, hasSampling: true },
      ...{ engineModel: 'inner', languages: ['en', 'de'], price: { perCharacterPicoUsd: 2_000_000n } },
      voiceCloning: { mode: 'zero_shot', acceptedFormats: ['wav'], minimumSampleSeconds: 2 },
    },
    {
      ...{ ...asr, traits: [], id: 'hears', engine: hearing, hasTimestamps: true, longestSeconds: 60 },
      price: { perSecondPicoUsd: 1_000_000_000n },
    },
  ]
}

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService({ models: engines => scripted(demoModels(engines)) })
  key = await service.key(5)
})
beforeEach(() => {
  speech.result = asIs[0]
  hearing.result = asIs[1]
  speech.cloned = asIs[2]
  // Each test has the minute's limit for itself.
  service.clock.pass(60_000)
})
afterAll(async () => {
  await closeSound(service)
})

const seconds = (count: number) => wavOf({ samples: new Int16Array(8_000 * count), rate: 8_000 })

type Fields = Record<string, string | Buffer>

/** A form where a field is bytes, else JSON. */
function requestOf(fields: Fields | object, headers: Record<string, string> = {}, credential = key): RequestInit {
  const asked = { authorization: `Bearer ${credential}`, ...headers }
  if (!Object.values(fields).some(value => value instanceof Buffer)) {
    return { method: 'POST', headers: { ...asked, 'content-type': 'application/json' }, body: JSON.stringify(fields) }
  }
  const body = new FormData()
  for (const [name, value] of Object.entries(fields as Fields)) {
    body.set(name, typeof value === 'string' ? value : new File([new Uint8Array(value)], `${name}.wav`))
  }
  return { method: 'POST', headers: asked, body }
}

async function charged(path: string, fields: object, headers: Record<string, string> = {}, credential = key) {
  const before = new Set((await entries()).map(({ id }) => id))
  const response = await service.request(`/api/v1/audio/${path}`, requestOf(fields, headers, credential))
  const bytes = Buffer.from(await response.arrayBuffer())
  const lines = (await entries()).filter(({ id }) => !before.has(id))
  return { response, bytes, lines: lines.map(({ sku, units, amount }) => [sku, units, amount]) }
}

const entries = () => service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
const holds = () => service.store.read.selectFrom('hold').selectAll().execute()

const hello = { model: 'voiced', input: 'Hello, you. And you!' }

describe('§8.1 POST /audio/speech', () => {
  test('a text is spoken whole, charged by its characters', async () => {
    const asked = { ...hello, voice: 'bert', response_format: 'flac', speed: 1.5, language: 'de', prompt: 'Sadly.' }
    const { response, bytes, lines } = await charged('speech', { ...asked, temperature: 0.5, top_p: 1 })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/flac'])
    expect(bytes.toString()).toBe('<Hello, you. And you!>')
    expect(lines).toEqual([['speech.character', 20n, 40n]])
    expect(speech.asked.at(-1)).toMatchObject({
      engineModel: 'inner',
      request: {
        ...{ text: hello.input, voice: 'bert', format: 'flac', speed: 1.5, language: 'de', style: 'Sadly.' },
        ...{ temperature: 0.5, topP: 1 },
      },
    })
    const headers = ['x-service-model-id', 'x-ratelimit-limit-requests']
    expect(headers.map(name => response.headers.get(name))).toEqual(['voiced', '60'])
  })

  test('mp3 and the first voice are what a request gets that asks for none', async () => {
    const { response } = await charged('speech', { input: 'x', model: 'plain' })
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect(speech.asked.at(-1)?.request).toEqual({ text: 'x', voice: 'demo-middle', format: 'mp3', speed: 1 })
  })

  test('a character counts once, whatever it takes in memory', async () => {
    const { lines } = await charged('speech', { ...hello, input: '😀é' })
    expect(lines).toEqual([['speech.character', 2n, 4n]])
  })

  test('sentence by sentence: each is asked for alone, all are charged together', async () => {
    const before = speech.asked.length
    const { response, bytes, lines } = await charged('speech', { ...hello, streaming: true })
    expect([response.status, bytes.toString()]).toEqual([200, '<Hello, you. ><And you!>'])
    expect(speech.asked.slice(before).map(({ request }) => [request.text, request.format])).toEqual([
      ['Hello, you. ', 'mp3'],
      ['And you!', 'mp3'],
    ])
    expect(lines).toEqual([['speech.character', 20n, 40n]])
  })

  test('a WAV in sentences has one header, and samples from then on', async () => {
    const { bytes } = await charged('speech', { ...hello, streaming: true, response_format: 'wav' })
    expect(bytes).toEqual(Buffer.concat([wavHeader(24_000), Buffer.from('<Hello, you. ><And you!>')]))
    expect(speech.asked.at(-1)?.request.format).toBe('pcm')
  })

  test('sentences that failed are not charged, those before them are', async () => {
    speech.result = ({ request }) => {
      if (request.text.startsWith('And')) throw new Error('down')
      return Buffer.from('x')
    }
    const before = new Set((await entries()).map(({ id }) => id))
    const response = await service.request('/api/v1/audio/speech', requestOf({ ...hello, streaming: true }))
    await expect(response.arrayBuffer()).rejects.toThrow()
    const lines = (await entries()).filter(({ id }) => !before.has(id))
    expect([response.status, lines.map(({ units }) => units)]).toEqual([200, [12n]])
    expect(await holds()).toEqual([])
  })

  test.each([false, true])(
    'the same key brings the same bytes, once charged; sentences asked for: %s',
    async streaming => {
      const send = () => charged('speech', { ...hello, streaming }, { 'idempotency-key': `speech-${streaming}` })
      const [first, second] = [await send(), await send()]
      expect([second.bytes, second.lines, first.lines.length]).toEqual([first.bytes, [], 1])
      expect(second.response.headers.get('content-type')).toBe('audio/mpeg')
      expect(second.response.headers.get('idempotent-replayed')).toBe('true')
    },
  )

  test.each([
    ['nothing', () => Buffer.alloc(0)],
    ['an error', () => Promise.reject(new Error('down'))],
  ])('%s of the engine is free of charge', async (_name, result) => {
    speech.result = result
    for (const streaming of [false, true]) {
      const { response, lines } = await charged('speech', { ...hello, streaming })
      expect([response.status, lines]).toEqual([500, []])
    }
    expect(await holds()).toEqual([])
    service.logged.length = 0
  })

  const refusals: [rule: string, body: object, status: number, says: string][] = [
    ['no text', { model: 'voiced' }, 400, '"path":["input"]'],
    ['an empty text', { ...hello, input: '' }, 400, '"path":["input"]'],
    ['a text too long', { ...hello, input: 'x'.repeat(4_097) }, 400, '4096'],
    ['a voice of another model', { ...hello, voice: 'eve' }, 400, 'Try using a supported voice: anna, bert'],
    ['another account’s voice', { ...hello, voice: `vv_${'x'.repeat(80)}` }, 400, 'is not supported by model'],
    ['a format that there is not', { ...hello, response_format: 'ogg' }, 400, 'mp3, opus, aac, flac, wav, pcm'],
    ['sentences as FLAC', { ...hello, streaming: true, response_format: 'flac' }, 400, 'mp3, opus, aac, wav, pcm'],
    ['a speed beyond all', { ...hello, speed: 5 }, 400, '4'],
    ['a speed on a model without', { input: 'x', model: 'plain', speed: 2 }, 400, 'does not support speed'],
    ['a style on a model without', { input: 'x', model: 'plain', prompt: 'Sad' }, 400, 'does not support prompt'],
    ['a language of another model', { ...hello, language: 'fr' }, 400, 'allowed values: en, de'],
    ['a language on a model without', { input: 'x', model: 'plain', language: 'fr' }, 400, 'does not support language'],
    ['sampling on a model without', { input: 'x', model: 'plain', top_p: 1 }, 400, 'does not support top_p'],
    ['a model of another type', { ...hello, model: 'demo-chat' }, 404, 'Specified model not found'],
  ]
  test.each(refusals)('%s is refused before anything is held', async (_rule, body, status, says) => {
    const { response, bytes, lines } = await charged('speech', body, {}, await service.key(1))
    expect([response.status, bytes.toString(), lines]).toEqual([status, expect.stringContaining(says), []])
    expect(await holds()).toEqual([])
  })

  test('no credential, too little credit, another content type', async () => {
    const poor = await service.key(0.00001)
    expect((await charged('speech', hello, {}, poor)).response.status).toBe(402)
    expect((await charged('speech', { ...hello, streaming: true }, {}, poor)).response.status).toBe(402)
    expect((await charged('speech', hello, { authorization: '' }, poor)).response.status).toBe(401)
    expect((await service.post('/audio/speech', hello)).status).toBe(402)
    const form = await service.request('/api/v1/audio/speech', requestOf({ file: seconds(1) }))
    expect(form.status).toBe(415)
  })

  test('§8.2, sixty a minute', async () => {
    const many = await service.key(1)
    for (let count = 0; count < 60; count++) await service.post('/audio/speech', { ...hello, input: 'x' }, many)
    const response = await service.post('/audio/speech', hello, many)
    expect([response.status, response.headers.get('x-ratelimit-remaining-requests')]).toEqual([429, '0'])
  })
})

describe('§8.2 POST /audio/transcriptions', () => {
  const file = seconds(3)

  test('what is said comes as JSON, charged by the seconds that are measured here', async () => {
    hearing.result = () => ({ text: 'hi', seconds: 99, timestamps: { word: [{ word: 'hi', start: 0, end: 1 }] } })
    const fields = { model: 'hears', file, timestamps: 'true', language: 'en' }
    const { response, bytes, lines } = await charged('transcriptions', fields)
    expect(response.status).toBe(200)
    expect(Transcription.parse(JSON.parse(bytes.toString()))).toEqual({
      text: 'hi',
      duration: 3,
      timestamps: { word: [{ word: 'hi', start: 0, end: 1 }] },
    })
    expect(lines).toEqual([['transcription.second', 3n, 3_000n]])
    expect(hearing.asked.at(-1)).toMatchObject({ language: 'en', timestamps: true, recording: { type: 'wav' } })
    expect(wavSeconds(hearing.asked.at(-1)?.recording.bytes ?? file)).toBe(3)
  })

  test('or as text, begun seconds counting', async () => {
    const { response, bytes, lines } = await charged('transcriptions', {
      ...{ model: 'hears', response_format: 'text', unknown: 'x' },
      file: wavOf({ samples: new Int16Array(20_000), rate: 8_000 }),
    })
    expect([response.headers.get('content-type'), bytes.toString()]).toEqual(['text/plain; charset=utf-8', 'two words'])
    expect(lines).toEqual([['transcription.second', 3n, 3_000n]])
  })

  test('the same key and file is charged once, the same key with another file is a mistake', async () => {
    const send = (given: Buffer) =>
      charged('transcriptions', { model: 'hears', file: given }, { 'idempotency-key': 'hear' })
    const [first, second, other] = [await send(file), await send(file), await send(seconds(2))]
    expect([first.lines.length, second.lines, second.bytes]).toEqual([1, [], first.bytes])
    expect([other.response.status, other.lines]).toEqual([422, []])
  })

  test('an engine that fails is free of charge', async () => {
    hearing.result = () => Promise.reject(new Error('down'))
    const { response, lines } = await charged('transcriptions', { model: 'hears', file })
    expect([response.status, lines, await holds()]).toEqual([500, [], []])
    service.logged.length = 0
  })

  const refusals: [rule: string, fields: Fields, status: number, says: string][] = [
    ['no file', { model: 'hears', other: Buffer.from('x') }, 400, '"path":["file"]'],
    ['a WAV that is cut off', { model: 'hears', file: file.subarray(0, -1) }, 400, 'check that the file is complete'],
    ['a file without sound', { model: 'hears', file: Buffer.from('GIF89a…') }, 400, 'WAV, MP3, FLAC'],
    ['a WAV without samples', { model: 'hears', file: file.subarray(0, 44) }, 400, 'no readable audio'],
    ['a recording too long', { model: 'hears', file: seconds(61) }, 400, 'accepts 60 s at most'],
    ['a file too large', { model: 'hears', file: Buffer.alloc(25 * 1024 * 1024 + 1) }, 413, '25 MB'],
    ['another answer', { model: 'hears', file, response_format: 'srt' }, 400, 'json, text'],
    ['times that are no choice', { model: 'hears', file, timestamps: 'maybe' }, 400, 'true, false'],
    ['times of a model without', { model: 'demo-asr', file, timestamps: 'true' }, 400, 'does not support timestamps'],
    ['a model of another type', { model: 'voiced', file }, 404, 'Specified model not found'],
  ]
  test.each(refusals)('%s is refused before anything is held', async (_rule, fields, status, says) => {
    const { response, bytes, lines } = await charged('transcriptions', fields, {}, await service.key(1))
    expect([response.status, bytes.toString(), lines]).toEqual([status, expect.stringContaining(says), []])
    expect(await holds()).toEqual([])
  })

  test.each([
    ['bytes a second beyond all', wavOfChunks({ bytesPerSecond: 0xffff_ffff })],
    ['two bytes of samples before the others', wavOfChunks({}, [2, 160_000 - 2])],
  ])('a header that claims %s makes ten seconds no cheaper', async (_claim, file) => {
    const { response, lines } = await charged('transcriptions', { model: 'hears', file })
    expect([response.status, lines]).toEqual([200, [['transcription.second', 10n, 10_000n]]])
  })

  const tone = (length: number, change: object = {}) => played(`sine=d=${length}:r=8000`, change)
  const opus = { encoder: 'libopus', rate: 48_000 }
  const cover = drawn('color=c=red:s=64x64:d=1,format=yuv420p')
  test.each<[file: string, make: () => Promise<Buffer>]>([
    ['two audio tracks, the short one first', () => made('ipod', [tone(2), tone(20)])],
    ['two audio tracks, the long one first', () => made('ipod', [tone(20), tone(2)])],
    ['two audio tracks in Matroska', () => made('matroska', [tone(2, opus), tone(20, opus)])],
    ['a video beside a short track and a long one', () => made('mp4', [cover, tone(2), tone(20)])],
  ])('the engine gets exactly the samples that are charged: %s', async (_file, make) => {
    const { response, lines } = await charged('transcriptions', { model: 'hears', file: await make() })
    const { bytes = Buffer.alloc(0), type } = hearing.asked.at(-1)?.recording ?? {}
    const length = wavSeconds(bytes) ?? 0
    expect([response.status, type]).toEqual([200, 'wav'])
    expect(lines).toEqual([['transcription.second', BigInt(Math.ceil(length)), expect.anything()]])
    // What is left of the caller's file is one run of samples, as long as it says.
    expect([bytes.length, (await tracksOf(bytes)).length]).toEqual([44 + length * 16_000 * 2, 1])
  })

  test('nor do samples that are encoded audio, as decoders find', async () => {
    const coded = await made('spdif', [played('sine=d=9.5:r=48000', { encoder: 'ac3', rate: 48_000 })])
    const file = wavOfChunks({ rate: 480_000, channels: 2 }, [coded])
    expect(wavSeconds(file)).toBeLessThan(1)
    const { lines } = await charged('transcriptions', { model: 'hears', file })
    expect(lines).toEqual([['transcription.second', 10n, 10_000n]])
  })

  test('too little credit, no form', async () => {
    const poor = await service.key(0.000001)
    for (const sent of [file, Buffer.from('fLaC, and nothing that can be decoded')]) {
      const { response } = await charged('transcriptions', { model: 'hears', file: sent }, {}, poor)
      expect(response.status).toBe(402)
    }
    expect((await service.post('/audio/transcriptions', { model: 'hears' }, key)).status).toBe(415)
  })
})

describe('§8.3 POST /audio/voices', () => {
  const clone = async (fields: Fields, credential = key) => charged('voices', fields, {}, credential)

  test('a voice of a recording is good for its owner and model, for seven days', async () => {
    const { response, bytes } = await clone({ model: 'voiced', file: seconds(2) })
    const { id, model } = Voice.parse(JSON.parse(bytes.toString()))
    expect([response.status, model, id]).toEqual([200, 'voiced', expect.stringMatching(/^vv_[A-Za-z0-9_-]+$/)])
    const say = (change: object = {}, credential = key) =>
      charged('speech', { ...hello, voice: id, ...change }, {}, credential).then(({ response }) => response.status)
    expect([await say(), speech.asked.at(-1)?.request.voice]).toEqual([200, 'inner voice'])
    expect(await say({ model: 'plain' })).toBe(400)
    expect(await say({}, await service.key(1))).toBe(400)
    expect(await say({ voice: `${id.slice(0, -1)}_` })).toBe(400)
    service.clock.pass(7 * 24 * 3600 * 1000 - 60_000)
    expect(await say()).toBe(200)
    service.clock.pass(60_000)
    expect(await say()).toBe(400)
  })

  test.each([
    ['a model without', { model: 'demo-speech', file: seconds(2) }, 400, 'allowed values: voiced'],
    ['a recording too short', { model: 'voiced', file: seconds(1) }, 400, 'needs at least 2 s'],
    ['a recording of another type', { model: 'voiced', file: Buffer.from('fLaC…') }, 400, 'accepts wav'],
    ['no recording', { model: 'voiced', file: Buffer.from('x') }, 400, 'is not an audio file'],
  ] as [string, Fields, number, string][])('%s is refused', async (_rule, fields, status, says) => {
    const { response, bytes } = await clone(fields)
    expect([response.status, bytes.toString()]).toEqual([status, expect.stringContaining(says)])
  })
})

test('§8.3 a voice is created only for callers who could pay to use it', async () => {
  speech.cloned = () => Promise.reject(new Error('It was asked.'))
  const poor = await service.key(0.09)
  const { response } = await charged('voices', { model: 'voiced', file: seconds(2) }, {}, poor)
  expect(response.status).toBe(402)
})

test('§8.3 an engine that never creates a voice blocks no caller', async () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => (ms === voiceMs ? timeout(0) : timeout(ms)))
  speech.cloned = () => new Promise(() => undefined)
  const { response } = await charged('voices', { model: 'voiced', file: seconds(2) })
  spy.mockRestore()
  expect(response.status).toBe(504)
})

test('§6.1 audio models state their voices and prices', async () => {
  const response = await service.request('/api/v1/models?type=all')
  const { data } = (await response.json()) as { data: { id: string; model_spec: object }[] }
  const specOf = (id: string) => data.find(each => each.id === id)?.model_spec
  expect(specOf('voiced')).toMatchObject({
    voices: ['anna', 'bert'],
    default_voice: 'anna',
    pricing: { input: { usd: 2, diem: 2 } },
    voice_cloning: { mode: 'zero_shot', accepted_formats: ['wav'], min_sample_seconds: 2, retention_days: 7 },
  })
  expect(specOf('hears')).toMatchObject({ pricing: { per_audio_second: { usd: 0.001, diem: 0.001 } } })
})

describe('the demonstrations', () => {
  const kinds: Record<SpeechFormat, string | null> = {
    ...{ mp3: 'mp3', opus: 'ogg', aac: 'aac', flac: 'flac', wav: 'wav', pcm: null },
  }
  test.each(Object.entries(kinds))('hum a text as %s, and measure it again', async (response_format, kind) => {
    const { response, bytes } = await charged('speech', { input: 'One, two.', response_format })
    expect([response.status, audioTypeOf(bytes)]).toEqual([200, kind])
    if (kind === null) return
    const heard = await charged('transcriptions', { file: bytes })
    const { text, duration = 0 } = JSON.parse(heard.bytes.toString())
    expect(text).toMatch(/^\[This demonstration does not recognize speech\./)
    // Six letters and three pauses; encoders fill up their last frame.
    expect(duration).toBeGreaterThanOrEqual(0.68)
    expect(duration).toBeLessThan(0.85)
  })

  test('the same text gives the same audio, and at double speed in half the time', async () => {
    const hum = async (change: object = {}) =>
      (await charged('speech', { input: 'One, two.', response_format: 'wav', ...change })).bytes
    expect(await hum()).toEqual(await hum())
    expect(wavSeconds(await hum({ speed: 2 }))).toBeCloseTo((wavSeconds(await hum()) ?? 0) / 2, 2)
    expect((await hum({ voice: 'demo-low' })).equals(await hum())).toBe(false)
    expect(wavSeconds(await hum({ streaming: true }))).toBeCloseTo(wavSeconds(await hum()) ?? 0, 3)
  })
})
