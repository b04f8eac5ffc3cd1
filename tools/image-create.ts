import { z } from 'zod'
import { GenerateImageRequest, generateImage, ImageFormat } from '#contract/operations/images.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, plainNumber, plainText, previewArgument } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

const { prompt, negative_prompt, width, height, seed } = GenerateImageRequest.shape

export default defineTool({
  name: 'image_create',
  set: 'image',
  title: 'Create images',
  description:
    'Makes new images from a prompt and saves them. To change an existing image, use image_edit. Paid per image.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Of type image, from models_find.'),
    prompt: plainText(prompt).describe('What to draw.'),
    negative_prompt: plainText(negative_prompt).optional().describe('What to avoid.'),
    width: plainNumber(width).optional().describe('Pixels.'),
    height: plainNumber(height).optional().describe('Pixels.'),
    aspect_ratio: plainText(z.string().min(1).max(40)).optional().describe('Such as 16:9.'),
    resolution: plainText(z.string().min(1).max(40)).optional().describe('Such as 2K.'),
    quality: z.enum(['low', 'medium', 'high']).optional().describe('Changes the price.'),
    style_preset: plainText(z.string().min(1).max(200)).optional().describe('An error lists the valid ones.'),
    seed: plainNumber(seed).optional().describe('The same seed draws the same image.'),
    variants: z.number().int().min(1).max(4).optional().describe('How many; each is charged.'),
    format: ImageFormat.optional().describe('File format.'),
    preview: previewArgument.describe('false shows none.'),
    again: againArgument,
  }),
  modelType: 'image',
  app: 'media',
  output: MadeOutput,

  async run(context, { again, preview: _preview, ...body }) {
    // One image is returned as bytes, several only as JSON.
    const asked = { ...body, return_binary: (body.variants ?? 1) === 1 }
    const made = await context.make(generateImage, { params: undefined, query: undefined, body: asked }, { again })
    return madeOutput(made, body.model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, call) => shownMedia(files, call),
})
