import { z } from 'zod'
import { EditImageRequest, editAspectRatios, editImage, multiEditImage } from '#contract/operations/images.ts'
import { imagesInCall } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, imageSource, plainText, previewArgument } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'
import { shownMedia } from '#toolkit/output/shown-media.ts'

export default defineTool({
  name: 'image_edit',
  set: 'image',
  title: 'Edit images',
  description:
    'Edits an image, or combines up to three, from a prompt, and saves the result. For a larger image, use image_upscale. Paid per image.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Of type inpaint, from models_find.'),
    prompt: plainText(EditImageRequest.shape.prompt).describe('What to change.'),
    images: z.array(z.string().min(1)).min(1).max(imagesInCall.edit).describe('Paths or URLs.'),
    aspect_ratio: z.enum(editAspectRatios).optional().describe('Width to height.'),
    resolution: plainText(EditImageRequest.shape.resolution).optional().describe('Such as 2K.'),
    quality: z.enum(['low', 'medium', 'high']).optional().describe('Changes the price.'),
    preview: previewArgument.describe('false shows none.'),
    again: againArgument,
  }),
  modelType: 'inpaint',
  app: 'media',
  sentAs: { modelId: 'model', image: 'images' },
  output: MadeOutput,

  async run(context, { again, preview: _preview, images, model, ...choices }) {
    const [first = '', ...others] = await Promise.all(images.map(source => imageSource(context.files, source)))
    const address = { params: undefined, query: undefined }
    const made = await (others.length === 0
      ? context.make(editImage, { ...address, body: { ...choices, model, image: first } }, { again })
      : // For several images, the published contract names the model only by its older word.
        context.make(
          multiEditImage,
          { ...address, body: { ...choices, modelId: model, images: [first, ...others] } },
          { again },
        ))
    return madeOutput(made, model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, call) => shownMedia(files, call),
})
