import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ConfigRefused } from '#service/config/config-values.ts'
import { Catalogue } from '#service/models/catalogue.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { videoModel } from '../models/example-models.ts'
import { configuredModels } from './configured-models.ts'

/** What a model's record offers and its engine would drop is found when the configuration is read. */
let folder: string
beforeAll(() => {
  folder = temporaryFolder('promises')
})

const baseUrl = 'http://127.0.0.1:8000/v1'
const openai = { engine: 'openai', baseUrl }
const service = { engine: 'service', baseUrl }
const local = { engine: 'local' }
const demo = { engine: 'demo' }
/** A workflow with places for these. */
const comfy = (...places: string[]) => ({ engine: 'comfyui', baseUrl, places })
type Upstream = { engine: string; places?: string[] }

const video = { type: 'video', durations: ['4s'], price: { perSecondUsd: { all: 0.01, '480p': 0.01, '720p': 0.01 } } }
const upscaler = { ...video, durations: [], media: ['video_url'], upscaleFactors: [2, 4] }
const factors = { price: { perSecondUsd: { '2x': 0.01, '4x': 0.01 } } }
const image = { type: 'image', price: { perImageUsd: 0.01 } }
const edit = { type: 'inpaint', price: { perImageUsd: 0.01 } }
const upscale = { type: 'upscale', price: { twiceUsd: 0.01, fourTimesUsd: 0.01 } }
const speech = { type: 'tts', voices: ['slt'], price: { perMillionCharactersUsd: 1 } }
const hearing = { type: 'asr', price: { perSecondUsd: 0.001 } }
const music = {
  type: 'music',
  durations: { default: 5, least: 5, most: 9 },
  price: { per: 'second', usd: 0.001 },
}
const vectors = { type: 'embedding', dimensions: 512, price: { inputPerMillionUsd: 1 } }

const drawn = ['prompt', 'width', 'height']

/** Null: what is offered can be done. */
const rows: [offered: string, model: object, upstreams: Upstream[], broken: string | null][] = [
  ['two resolutions by a workflow with a size', { ...video, resolutions: ['480p', '720p'] }, [comfy(...drawn)], null],
  [
    'two resolutions by a workflow of one size',
    { ...video, resolutions: ['480p', '720p'] },
    [comfy('prompt')],
    'resolution 480p',
  ],
  ['one resolution, which the workflow has built in', { ...video, resolutions: ['480p'] }, [comfy('prompt')], null],
  [
    'two ratios by a workflow of one',
    { ...video, aspectRatios: ['16:9', '1:1'] },
    [comfy('prompt')],
    'aspect_ratio 16:9',
  ],
  ['two durations by a workflow of one', { ...video, durations: ['4s', '8s'] }, [comfy('prompt')], 'duration 4s'],
  ['a prompt that the workflow has no place for', video, [comfy('seed')], 'prompt'],
  ['an end frame by OpenAI’s videos', { ...video, media: ['image_url', 'end_image_url'] }, [openai], 'end_image_url'],
  ['sound to choose by OpenAI’s videos', { ...video, audio: true, audioConfigurable: true }, [openai], 'audio'],
  ['a first frame by OpenAI’s videos', { ...video, input: 'image-to-video' }, [openai], null],
  [
    'all media by another service',
    { ...video, media: ['elements', 'scene_image_urls', 'reference_audio_urls'], audio: true, audioConfigurable: true },
    [service],
    null,
  ],
  ['what one of two upstreams cannot do', { ...video, media: ['elements'] }, [service, openai], 'elements'],
  [
    'references by a workflow with a place',
    { ...video, media: ['reference_image_urls'] },
    [comfy('prompt', 'reference_image')],
    null,
  ],
  [
    'references by a workflow without one',
    { ...video, media: ['reference_image_urls'] },
    [comfy('prompt')],
    'reference_image_urls',
  ],
  ['factors by a workflow of one', { ...upscaler, ...factors }, [comfy('video')], 'upscale_factor 2'],
  ['factors by a workflow with a scale', { ...upscaler, ...factors }, [comfy('video', 'scale')], null],
  ['a size by a workflow of one', image, [comfy('prompt')], 'width'],
  ['steps by a workflow without them', { ...image, steps: { default: 8, max: 20 } }, [comfy(...drawn)], 'steps'],
  ['a seed by a workflow without one', { ...image, hasSeed: true }, [comfy(...drawn)], 'seed'],
  [
    'a negative prompt by a workflow without',
    { ...image, hasNegativePrompt: true },
    [comfy(...drawn)],
    'negative_prompt',
  ],
  ['styles by OpenAI’s images', { ...image, styles: ['Noir'] }, [openai], 'style_preset Noir'],
  ['styles by another service', { ...image, styles: ['Noir'] }, [service], null],
  ['WebP by the demonstration', { ...image, formats: ['webp'] }, [demo], 'format webp'],
  ['two images by a workflow for one', { ...edit, mostImages: 2 }, [comfy('prompt', 'image')], 'images 2'],
  ['a ratio that OpenAI’s edits have no size for', { ...edit, aspectRatios: ['21:9'] }, [openai], 'aspect_ratio 21:9'],
  [
    'resolutions by OpenAI’s edits',
    { ...edit, price: { perImageUsd: 0.01, resolutions: { '1K': 0.01, '2K': 0.02 } } },
    [openai],
    'resolution 1K',
  ],
  ['scales by a workflow of one', upscale, [comfy('image')], 'scale 2'],
  ['enhancing by the small model', { ...upscale, hasEnhance: true }, [local], 'enhance'],
  ['a voice that the local voices have', speech, [local], null],
  ['a voice that they do not have', { ...speech, voices: ['anna'] }, [local], 'voice anna'],
  ['a style by local voices', { ...speech, hasStyle: true }, [local], 'prompt'],
  ['German by local voices', { ...speech, languages: ['de'] }, [local], 'language de'],
  ['times by the demonstration', { ...hearing, hasTimestamps: true }, [demo], 'timestamps'],
  ['times by OpenAI’s transcriptions', { ...hearing, hasTimestamps: true }, [openai], null],
  ['lyrics written by the demonstration', { ...music, hasLyricsOptimizer: true }, [demo], 'lyrics_optimizer'],
  ['fewer dimensions of local vectors', { ...vectors, hasDimensions: true }, [local], 'dimensions 512'],
]

async function faultOf(model: object, upstreams: readonly Upstream[]): Promise<string | null> {
  const workflow = join(folder, 'workflow.json')
  const given = []
  for (const { places, ...upstream } of upstreams) {
    if (places) {
      const inputs = Object.fromEntries(places.map(place => [place, `{{${place}}}`]))
      await writeFile(workflow, JSON.stringify({ 1: { class_type: 'Make', inputs } }))
    }
    given.push(places ? { ...upstream, workflow } : upstream)
  }
  const text = JSON.stringify({
    publicUrl: 'http://127.0.0.1:8402',
    models: [{ id: 'one', ...model, upstreams: given }],
  })
  try {
    const models = configuredModels(text, { folder })
    for (const opened of models) await opened.close?.()
    return null
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return error.faults.map(({ sentence }) => sentence).join('\n')
  }
}

test.each(rows)('%s', async (_offered, model, upstreams, broken) => {
  const fault = await faultOf(model, upstreams)
  const name = `${upstreams.at(-1)?.engine}-${upstreams.length}`
  if (broken === null) expect(fault).toBeNull()
  else expect(fault).toContain(`one offers ${broken}, which its upstream ${name} does not support.`)
})

test('a program that brings its own engine is told too', () => {
  const model = videoModel({ id: 'own' })
  const engine = { ...model.engine, carries: (field: string) => field !== 'image_url' }
  expect(() => new Catalogue([{ ...model, engine }])).toThrow(
    'Model own offers image_url, which its engine does not support',
  )
})
