import { expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { ModelRecord } from '#contract/operations/models.ts'
import { Catalogue } from '#service/models/catalogue.ts'
import type { Model } from '#service/models/model.ts'
import { models, textModel, videoModel } from './example-models.ts'

const catalogue = new Catalogue(models)

test.each([
  ['an id', () => catalogue.find('text', 'demo-chat').id, 'demo-chat'],
  ['a trait', () => catalogue.find('text', 'default').id, 'demo-chat'],
  [
    "another provider's id",
    () => new Catalogue([textModel({ compatibleIds: ['gpt-4o'] })]).find('text', 'gpt-4o').id,
    'demo-chat',
  ],
  ['the same trait of videos', () => catalogue.find('video', 'default').id, 'demo-video'],
])('a model is found by %s', (_name, find, id) => {
  expect(find()).toBe(id)
})

test.each([
  [
    'an unknown name',
    () => catalogue.find('text', 'nothing'),
    '. Models of type text: demo-chat; GET /models?type=text ',
  ],
  [
    'a name that is misspelled',
    () => catalogue.find('video', 'dmo-video'),
    '. Similar models of type video: demo-video',
  ],
  [
    'a video model asked as text',
    () => catalogue.find('text', 'demo-video'),
    ': demo-video has the type video, and this call needs the type text. Models of type text: demo-chat;',
  ],
  ['a text model asked as video', () => catalogue.find('video', 'demo-chat'), ': demo-chat has the type text'],
  ['a name of every object', () => catalogue.find('text', 'constructor'), '. Models of type text: demo-chat;'],
  ['an empty name', () => catalogue.find('video', ''), '. Models of type video: demo-video, '],
  [
    'a type of which there is none',
    () => new Catalogue([textModel()]).find('music', 'x'),
    '. This service has no models',
  ],
])('%s is 404, and names those that there are', (_name, find, more) => {
  const body = { error: expect.stringContaining(`Specified model not found${more}`) }
  expect(find).toThrow(expect.objectContaining({ status: 404, body }))
})

test.each([
  ['text', ['demo-chat']],
  ['video', ['demo-video', 'demo-video-url', 'demo-video-studio', 'demo-video-upscale']],
  ['image', ['demo-image']],
  ['code', []],
  ['embedding', ['demo-embedding']],
  ['tts', ['demo-speech']],
  ['asr', ['demo-asr']],
  [
    'all',
    [
      'demo-chat',
      'demo-embedding',
      'demo-image',
      'demo-edit',
      'demo-upscale',
      'demo-video',
      'demo-video-url',
      'demo-video-studio',
      'demo-video-upscale',
      'demo-speech',
      'demo-asr',
    ],
  ],
] as const)('the list of %s models', (type, ids) => {
  const records = catalogue.records(type)
  expect(records.map(record => record.id)).toEqual(ids)
  for (const record of records) expect(ModelRecord.parse(record)).toEqual(record)
})

test('code models are text models made for code', () => {
  const coder = textModel({
    id: 'coder',
    traits: [],
    capabilities: { ...textModel().capabilities, optimizedForCode: true },
  })
  expect(new Catalogue([...models, coder]).records('code').map(record => record.id)).toEqual(['coder'])
})

test('prices stand in the record per million tokens, and videos have none', () => {
  const [text] = catalogue.records('text')
  const [video] = catalogue.records('video')
  expect(text?.model_spec.pricing).toEqual({ input: { usd: 0.15, diem: 0.15 }, output: { usd: 0.6, diem: 0.6 } })
  expect(text).toMatchObject({ owned_by: 'service', context_length: 131_072, model_spec: { traits: ['default'] } })
  expect(video?.model_spec.pricing).toBeUndefined()
  expect(video?.model_spec.constraints).toMatchObject({ model_type: 'video', audio: true })
})

const wrong: [rule: string, models: Model[], sentence: RegExp][] = [
  ['an id twice', [textModel(), textModel()], /share an id/],
  ['a trait twice in a type', [textModel(), textModel({ id: 'other' })], /share the name default/],
  ["another provider's id twice in a type", [textModel({ compatibleIds: ['default'] })], /share the name default/],
  ["another provider's id that reads as a suffix", [textModel({ compatibleIds: ['a:b=c'] })], /cannot be a model's id/],
  ['an id that reads as a suffix', [textModel({ id: 'a:b=c' })], /cannot be a model's id/],
  ['a completion above the context', [textModel({ contextTokens: 10 })], /context of 10/],
  ['a price below zero', [textModel({ price: { inputPicoUsd: -1n, outputPicoUsd: 1n } })], /below zero/],
  [
    'a resolution without a price',
    [videoModel({ price: { perSecondMicroUsd: { '480p': microUsd(1) }, audioPerSecondMicroUsd: microUsd(0) } })],
    /no price for "360p"/,
  ],
  [
    'a duration that no request can ask for',
    [videoModel({ constraints: { ...videoModel().constraints, durations: ['5s', '17s'] } })],
    /allows 17s/,
  ],
  [
    'no duration',
    [videoModel({ constraints: { ...videoModel().constraints, durations: [] } })],
    /needs at least one duration/,
  ],
]
test.each(wrong)('%s is found at start', (_rule, list, sentence) => {
  expect(() => new Catalogue(list)).toThrow(sentence)
})

test('the demonstration says so, and its consent policy is its own', () => {
  for (const { model_spec: spec, id } of catalogue.records('all')) {
    expect(`${id} ${spec.name}`).toMatch(/^demo-.*Demo/)
    expect(spec.description).toMatch(/demonstration/i)
  }
  const { consent } = catalogue.find('video', 'demo-video')
  expect(consent).toMatchObject({ provider: 'demo', version: 'v1.0' })
  expect(consent?.text).toMatch(/likeness.*rights.*screened/s)
})
