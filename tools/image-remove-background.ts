import { z } from 'zod'
import { backgroundRemoveImage } from '#contract/operations/images.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, imageSource, previewArgument } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

export default defineTool({
  name: 'image_remove_background',
  set: 'image',
  title: 'Remove a background',
  description:
    "Makes an image's background transparent and saves it as PNG. For a different background, use image_edit. Paid per image.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    image: z.string().min(1).describe('Path or URL.'),
    model: z.string().min(1).optional().describe('Which model, if there are several.'),
    preview: previewArgument.describe('false shows none.'),
    again: againArgument,
  }),
  app: 'media',
  sentAs: { image_url: 'image' },
  output: MadeOutput,

  async run(context, { again, preview: _preview, image, model }) {
    const source = await imageSource(context.files, image)
    const body = { model, ...(/^https?:/i.test(source) ? { image_url: source } : { image: source }) }
    const call = { params: undefined, query: undefined, body }
    return madeOutput(await context.make(backgroundRemoveImage, call, { again }), model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, call) => shownMedia(files, call),
})
