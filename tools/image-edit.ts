import { z } from 'zod'
import { EditImageRequest, editAspectRatios, editImage, multiEditImage } from '#contract/operations/images.ts'
import { imagesInCall } from '#toolkit/bounds.ts'
import { defineTool } from '#toolkit/define.ts'
import { againArgument, imageSource, plainText, previewArgument, previewOf } from '#toolkit/input/arguments.ts'
import { MadeOutput, madeFiles, madeOutput, sayMade } from '#toolkit/output/paid.ts'

export default defineTool({
  name: 'image_edit',
  set: 'image',
  title: 'Edit images',
  description: 'Edits an image, or combines up to three, by a prompt, and saves the result. Paid per image.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input: z.strictObject({
    model: z.string().min(1).describe('Of type inpaint, from models_find.'),
    prompt: plainText(EditImageRequest.shape.prompt).describe('What to change.'),
    images: z.array(z.string().min(1)).min(1).max(imagesInCall.edit).describe('Paths or URLs.'),
    aspect_ratio: z.enum(editAspectRatios).optional().describe('Width to height.'),
    resolution: plainText(EditImageRequest.shape.resolution).optional().describe('Such as 2K.'),
    quality: z.enum(['low', 'medium', 'high']).optional().describe('Changes the price.'),
    preview: previewArgument.describe('Shows it, small.'),
    again: againArgument,
  }),
  modelType: 'inpaint',
  sentAs: { modelId: 'model', image: 'images' },
  output: MadeOutput,

  async run(context, { again, preview: _preview, images, model, ...choices }) {
    const [first = '', ...others] = await Promise.all(images.map(source => imageSource(context.files, source)))
    const address = { params: undefined, query: undefined }
    const made = await (others.length === 0
      ? context.make(editImage, { ...address, body: { ...choices, model, image: first } }, { again })
      : // The published contract names the model of several pictures by its older word alone.
        context.make(
          multiEditImage,
          { ...address, body: { ...choices, modelId: model, images: [first, ...others] } },
          { again },
        ))
    return madeOutput(made, model)
  },

  say: sayMade,
  files: madeFiles,
  shows: ({ files }, call) => previewOf(files[0], call),
})
