import { z } from 'zod'
import { upscaleImage } from '#contract/operations/images.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, imageSource, previewArgument } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'
import type { Made } from '#toolkit/tool-context.ts'

export default defineTool({
  name: 'image_upscale',
  set: 'image',
  title: 'Upscale an image',
  description: 'Makes an image larger and saves it. For a video, use video_create with an upscaler. Paid per image.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    image: z.string().min(1).describe('Path or URL.'),
    scale: z.number().min(1).max(4).optional().describe('2 by default; above 2 costs as much as 4.'),
    enhance: z.boolean().optional().describe('Also redraws details.'),
    model: z.string().min(1).optional().describe('Of type upscale.'),
    preview: previewArgument.describe('false shows none.'),
    again: againArgument,
  }),
  modelType: 'upscale',
  app: 'media',
  output: MadeOutput,

  async run(context, { again, preview: _preview, image, ...choices }) {
    const body = { ...choices, image: await imageSource(context.files, image) }
    const made = await context.make(upscaleImage, { params: undefined, query: undefined, body }, { again })
    return madeOutput(withPriceNote(made, choices.scale), choices.model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, call) => shownMedia(files, call),
})

/** Services have two prices: one for up to twice the size, and one beyond. */
const withPriceNote = (made: Made, scale = 2): Made =>
  scale > 2 && scale < 4
    ? {
        ...made,
        paid: { ...made.paid, notes: [...(made.paid.notes ?? []), `A scale of ${scale} costs as much as 4.`] },
      }
    : made
