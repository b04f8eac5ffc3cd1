import { z } from 'zod'
import { upscaleImage } from '#contract/image-edits.ts'
import { defineTool } from '#toolkit/define-tool.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/made-output.ts'
import { sayingWhatItTakes } from '#toolkit/model-refusal.ts'
import { pictureSource } from '#toolkit/picture-source.ts'

export default defineTool({
  name: 'image_upscale',
  set: 'image',
  title: 'Enlarge a picture',
  description: 'Makes a picture larger and saves it. Paid by the picture.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    image: z.string().min(1).describe('Path or URL.'),
    scale: z.number().min(1).max(4).optional().describe('2 by default.'),
    enhance: z.boolean().optional().describe('Also redraws details.'),
    model: z.string().min(1).optional().describe('Of type upscale, where there are several.'),
    again: z.boolean().optional(),
  }),
  output: MadeOutput,

  async run(context, { again, image, ...choices }) {
    const body = { ...choices, image: await pictureSource(context.files, image) }
    const made = await sayingWhatItTakes(context, choices.model, () =>
      context.make(upscaleImage, { params: undefined, query: undefined, body }, { again }),
    )
    return madeOutput(made, choices.model)
  },

  say: sayMade,
  files: madeFiles,
})
