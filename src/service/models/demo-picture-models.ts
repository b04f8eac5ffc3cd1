import { microUsd } from '#contract/money.ts'
import { editAspectRatios } from '#contract/operations/images.ts'
import type { BackgroundEngine, EditEngine, UpscaleEngine } from '#engines/ports/image-engines.ts'
import type { BackgroundModel, EditModel, PictureModel, UpscaleModel } from './picture-model.ts'

/** 2026-11-22, when these models were first offered. */
const createdAt = 1_795_305_600

const shared = {
  createdAt,
  privacy: 'private',
  traits: ['default'],
  engineName: 'demo',
  shortestSide: 8,
  mostPixels: 16_777_216,
} as const

/** Demonstrations of what begins with a picture; each says that it is one. */
export const demoPictureModels = (engine: EditEngine & UpscaleEngine & BackgroundEngine): PictureModel[] => [
  demoEdit(engine),
  demoUpscale(engine),
  demoBackground(engine),
]

const demoEdit = (engine: EditEngine): EditModel => ({
  ...shared,
  type: 'inpaint',
  id: 'demo-edit',
  name: 'Demo edit',
  description:
    'A demonstration: pictures side by side, changed where the prompt says grey, sepia, invert, brighter, darker or mirror, with its words over the lower edge.',
  engineModel: 'demo-edit',
  promptCharacters: 2_000,
  formats: ['png'],
  aspectRatios: editAspectRatios.filter(ratio => ratio !== 'auto'),
  mostPictures: 3,
  price: { perPictureMicroUsd: microUsd(20_000) },
  engine,
})

const demoUpscale = (engine: UpscaleEngine): UpscaleModel => ({
  ...shared,
  type: 'upscale',
  id: 'demo-upscale',
  name: 'Demo upscale',
  description: 'A demonstration without a model behind it: a larger picture by bicubic arithmetic, no sharper.',
  engineModel: 'demo-upscale',
  mostMadePixels: 16_777_216,
  hasEnhance: false,
  price: { twiceMicroUsd: microUsd(10_000), fourTimesMicroUsd: microUsd(30_000) },
  engine,
})

const demoBackground = (engine: BackgroundEngine): BackgroundModel => ({
  ...shared,
  type: 'background',
  id: 'demo-background',
  name: 'Demo background removal',
  description:
    'A demonstration without a model behind it: what has the colour of the border, and can be reached from there, becomes transparent.',
  engineModel: 'demo-background',
  price: { perPictureMicroUsd: microUsd(10_000) },
  engine,
})
