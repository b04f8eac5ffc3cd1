import { z } from 'zod'
import { listOf } from './bounded-list.ts'
import { FormBoolean, formNumber, UploadedFile } from './form-fields.ts'
import { ImageFormat, imageFailures, imageTypes } from './images.ts'
import { defineOperation } from './operation.ts'

/** A picture of a request: base64, a data URL, an http(s) address, or a file of a form. */
const PictureInput = z.union([z.string().min(1), UploadedFile])
export type PictureInput = z.output<typeof PictureInput>

/** Pictures that one request may bring (published contract §7.4). */
export const mostEditPictures = 3

export const editAspectRatios = ['auto', '1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:5'] as const

const editFields = {
  model: z.string().min(1).default('default'),
  /** The older name of `model`; it counts where `model` is absent. */
  modelId: z.string().min(1).optional(),
  prompt: z.string().min(1).max(32_768),
  aspect_ratio: z.enum(editAspectRatios).optional(),
  resolution: z.string().min(1).max(10).optional(),
  /** `jpg` is another word for `jpeg`. */
  output_format: z.enum([...ImageFormat.options, 'jpg']).optional(),
  safe_mode: FormBoolean.default(true),
}

const Quality = z.enum(['low', 'medium', 'high'])

/** Published contract §7.3. */
export const EditImageRequest = z
  .looseObject({ image: PictureInput, ...editFields, quality: Quality.optional() })
  .meta({ id: 'EditImageRequest' })
export type EditImageRequest = z.output<typeof EditImageRequest>

/** Published contract §7.4. A form that sends one file has no list of them. */
export const MultiEditImageRequest = z
  .looseObject({
    images: z.union([listOf(PictureInput).min(1).max(mostEditPictures), PictureInput]),
    ...editFields,
    quality: Quality.optional(),
  })
  .meta({ id: 'MultiEditImageRequest' })
export type MultiEditImageRequest = z.output<typeof MultiEditImageRequest>

/** From 0 to 1; null where the service chooses. */
const Share = formNumber(z.number().min(0).max(1)).nullish()

/** Also names the model, for a service that has several. */
export const UpscaleImageRequest = z
  .looseObject({
    image: PictureInput,
    model: z.string().min(1).default('default'),
    scale: formNumber(z.number().min(1).max(4)).default(2),
    enhance: FormBoolean.default(false),
    enhanceCreativity: Share,
    enhancePrompt: z.string().max(1_500).optional(),
    replication: Share,
  })
  .meta({ id: 'UpscaleImageRequest' })
export type UpscaleImageRequest = z.output<typeof UpscaleImageRequest>

/** Also names the model, for a service that has several. One of both pictures. */
export const BackgroundRemoveImageRequest = z
  .looseObject({
    image: PictureInput.optional(),
    image_url: z.string().min(1).optional(),
    model: z.string().min(1).default('default'),
  })
  .meta({ id: 'BackgroundRemoveImageRequest' })
export type BackgroundRemoveImageRequest = z.output<typeof BackgroundRemoveImageRequest>

const shared = {
  method: 'POST',
  tag: 'Image',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'image',
  failures: imageFailures,
} as const
const bodyTypes = ['json', 'multipart'] as const

export const editImage = defineOperation({
  ...shared,
  id: 'editImage',
  path: '/image/edit',
  summary: 'Change a picture as a prompt says',
  request: { body: EditImageRequest, bodyTypes },
  answer: { bytes: imageTypes },
})

export const multiEditImage = defineOperation({
  ...shared,
  id: 'multiEditImage',
  path: '/image/multi-edit',
  summary: 'Make one picture of up to three, as a prompt says',
  request: { body: MultiEditImageRequest, bodyTypes },
  answer: { bytes: imageTypes },
})

export const upscaleImage = defineOperation({
  ...shared,
  id: 'upscaleImage',
  path: '/image/upscale',
  summary: 'Make a picture larger',
  request: { body: UpscaleImageRequest, bodyTypes },
  answer: { bytes: 'image/png' },
})

export const backgroundRemoveImage = defineOperation({
  ...shared,
  id: 'backgroundRemoveImage',
  path: '/image/background-remove',
  summary: 'Make the background of a picture transparent',
  request: { body: BackgroundRemoveImageRequest, bodyTypes },
  answer: { bytes: 'image/png' },
})
