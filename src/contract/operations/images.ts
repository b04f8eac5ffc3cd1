import { z } from 'zod'
import { ContentViolation, DetailedError, paidModelFailures, readFailures, StandardError } from '../errors/failures.ts'
import { answerListOf, listOf } from '../schemas.ts'
import { FormBoolean, formNumber, UploadedFile } from '../wire/form.ts'
import { defineOperation } from './operation.ts'

const imageFormats = ['jpeg', 'png', 'webp'] as const
export const ImageFormat = z.enum(imageFormats)
export type ImageFormat = z.output<typeof ImageFormat>

const imageTypes = imageFormats.map(format => `image/${format}`)

/** Pixels; the model's record says what it supports. */
const Side = z.number().int().positive().max(1_280)

/** Published contract §7.1. `steps` and similar members are hints: a model that does not support them ignores them. */
export const GenerateImageRequest = z
  .object({
    model: z.string().min(1),
    prompt: z.string().min(1).max(7_500),
    negative_prompt: z.string().max(7_500).optional(),
    width: Side.default(1_024),
    height: Side.default(1_024),
    variants: z.number().int().min(1).max(4).default(1),
    format: ImageFormat.optional(),
    return_binary: z.boolean().default(false),
    seed: z.number().int().min(-999_999_999).max(999_999_999).optional(),
    style_preset: z.string().optional(),
    safe_mode: z.boolean().default(true),
    // Diffusion models are trained with a thousand steps; none can use more.
    steps: z.number().int().min(1).max(1_000).optional(),
    cfg_scale: z.number().positive().max(20).optional(),
    lora_strength: z.number().int().min(0).max(100).optional(),
    hide_watermark: z.boolean().default(false),
    embed_exif_metadata: z.boolean().default(false),
    aspect_ratio: z.string().optional(),
    resolution: z.string().optional(),
    quality: z.enum(['low', 'medium', 'high']).optional(),
    enable_web_search: z.boolean().optional(),
    inpaint: z.null().optional(),
  })
  .meta({ id: 'GenerateImageRequest' })
export type GenerateImageRequest = z.output<typeof GenerateImageRequest>

export const GeneratedImages = z
  .strictObject({
    id: z.string(),
    /** Base64. */
    images: answerListOf(z.string()),
    /** Milliseconds. */
    timing: z.strictObject({
      inferenceDuration: z.number(),
      inferencePreprocessingTime: z.number(),
      inferenceQueueTime: z.number(),
      total: z.number(),
    }),
  })
  .meta({ id: 'GeneratedImages' })

const imageFailures = {
  ...paidModelFailures,
  415: StandardError,
  422: z.union([ContentViolation, DetailedError]),
  504: StandardError,
}

export const generateImage = defineOperation({
  id: 'generateImage',
  method: 'POST',
  path: '/image/generate',
  tag: 'Image',
  summary: 'Create images from a prompt, as base64 or as bytes',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'image',
  request: { body: GenerateImageRequest },
  answer: { json: GeneratedImages, bytes: imageTypes },
  failures: imageFailures,
})

const sizes = ['256x256', '512x512', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'] as const

/**
 * OpenAI's request (published contract §7.2). `background`, `output_compression`, `quality`, `style` and `user` are
 * accepted but have no effect. `moderation: low` switches safe mode off.
 */
export const SimpleImageRequest = z
  .object({
    model: z.string().min(1).default('default'),
    prompt: z.string().min(1).max(1_500),
    n: z.literal(1).nullish(),
    size: z.enum(['auto', ...sizes]).nullish(),
    output_format: ImageFormat.nullish(),
    response_format: z.enum(['b64_json', 'url']).nullish(),
    background: z.enum(['transparent', 'opaque', 'auto']).nullish(),
    moderation: z.enum(['low', 'auto']).nullish(),
    output_compression: z.number().int().min(0).max(100).nullish(),
    quality: z.enum(['auto', 'high', 'medium', 'low', 'hd', 'standard']).nullish(),
    style: z.enum(['vivid', 'natural']).nullish(),
    user: z.string().optional(),
  })
  .meta({ id: 'SimpleImageRequest' })
export type SimpleImageRequest = z.output<typeof SimpleImageRequest>

export const SimpleImages = z
  .strictObject({
    created: z.number().int(),
    data: answerListOf(z.union([z.strictObject({ b64_json: z.string() }), z.strictObject({ url: z.string() })])),
  })
  .meta({ id: 'SimpleImages' })

export const simpleGenerateImage = defineOperation({
  id: 'simpleGenerateImage',
  method: 'POST',
  path: '/images/generations',
  tag: 'Image',
  summary: 'Create an image from a prompt; compatible with OpenAI clients',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'image',
  request: { body: SimpleImageRequest },
  answer: { json: SimpleImages },
  failures: imageFailures,
})

export const listImageStyles = defineOperation({
  id: 'imageStylesList',
  method: 'GET',
  path: '/image/styles',
  tag: 'Image',
  summary: 'List image styles',
  auth: [],
  charge: 'free',
  limit: 'read',
  request: {},
  answer: {
    json: z.strictObject({ object: z.literal('list'), data: answerListOf(z.string()) }).meta({ id: 'ImageStyles' }),
  },
  failures: readFailures,
})

/** An image in a request: base64, a data URL, an http(s) address, or a file in a form. */
const ImageInput = z.union([z.string().min(1), UploadedFile])
export type ImageInput = z.output<typeof ImageInput>

/** Maximum number of images per request (published contract §7.4). */
export const mostEditImages = 3

export const editAspectRatios = ['auto', '1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:5'] as const

const editFields = {
  model: z.string().min(1).default('default'),
  /** The older name of `model`, used if `model` is absent. */
  modelId: z.string().min(1).optional(),
  prompt: z.string().min(1).max(32_768),
  aspect_ratio: z.enum(editAspectRatios).optional(),
  resolution: z.string().min(1).max(10).optional(),
  /** `jpg` is an alias of `jpeg`. */
  output_format: z.enum([...ImageFormat.options, 'jpg']).optional(),
  safe_mode: FormBoolean.default(true),
}

export const ImageQuality = z.enum(['low', 'medium', 'high'])

/** Published contract §7.3. */
export const EditImageRequest = z
  .looseObject({ image: ImageInput, ...editFields, quality: ImageQuality.optional() })
  .meta({ id: 'EditImageRequest' })
export type EditImageRequest = z.output<typeof EditImageRequest>

/** Published contract §7.4. In a form, a single file does not arrive as a list. */
export const MultiEditImageRequest = z
  .looseObject({
    images: z.union([listOf(ImageInput).min(1).max(mostEditImages), ImageInput]),
    ...editFields,
    quality: ImageQuality.optional(),
  })
  .meta({ id: 'MultiEditImageRequest' })
export type MultiEditImageRequest = z.output<typeof MultiEditImageRequest>

/** From 0 to 1; null lets the service choose. */
const Share = formNumber(z.number().min(0).max(1)).nullish()

/** The model may be named too, for a service that has several. */
export const UpscaleImageRequest = z
  .looseObject({
    image: ImageInput,
    model: z.string().min(1).default('default'),
    scale: formNumber(z.number().min(1).max(4)).default(2),
    enhance: FormBoolean.default(false),
    enhanceCreativity: Share,
    enhancePrompt: z.string().max(1_500).optional(),
    replication: Share,
  })
  .meta({ id: 'UpscaleImageRequest' })
export type UpscaleImageRequest = z.output<typeof UpscaleImageRequest>

/** The model may be named too, for a service that has several. Exactly one of `image` and `image_url` must be given. */
export const BackgroundRemoveImageRequest = z
  .looseObject({
    image: ImageInput.optional(),
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
  summary: 'Edit an image with a prompt',
  request: { body: EditImageRequest, bodyTypes },
  answer: { bytes: imageTypes },
})

export const multiEditImage = defineOperation({
  ...shared,
  id: 'multiEditImage',
  path: '/image/multi-edit',
  summary: 'Combine up to three images into one with a prompt',
  request: { body: MultiEditImageRequest, bodyTypes },
  answer: { bytes: imageTypes },
})

export const upscaleImage = defineOperation({
  ...shared,
  id: 'upscaleImage',
  path: '/image/upscale',
  summary: 'Upscale an image',
  request: { body: UpscaleImageRequest, bodyTypes },
  answer: { bytes: 'image/png' },
})

export const backgroundRemoveImage = defineOperation({
  ...shared,
  id: 'backgroundRemoveImage',
  path: '/image/background-remove',
  summary: 'Remove the background of an image',
  request: { body: BackgroundRemoveImageRequest, bodyTypes },
  answer: { bytes: 'image/png' },
})
