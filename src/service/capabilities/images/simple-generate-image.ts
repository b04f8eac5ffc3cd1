import { fieldError } from '#contract/errors/issues.ts'
import type { SimpleImageRequest } from '#contract/operations/images.ts'
import { type Call, json } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import type { ImageModel } from '../../models/model.ts'
import { checkFormat, checkPrompt } from './check-image.ts'
import { makePictures } from './make-pictures.ts'

const defaultSide = 1_024

/** OpenAI's request (published contract §7.2). */
export async function answerSimpleImage(call: Call, body: SimpleImageRequest, service: Service) {
  const model = service.catalogue.image(body.model)
  checkPrompt(model, 'prompt', body.prompt)
  checkFormat(model, 'output_format', body.output_format)
  const format = body.output_format ?? (model.formats.includes('png') ? 'png' : model.formats[0])
  const safeMode = body.moderation !== 'low'
  const request = { prompt: body.prompt, ...sidesOf(model, body.size), count: 1, format, safeMode }
  const asUrl = body.response_format === 'url'
  return makePictures(
    call,
    {
      model,
      request,
      replyOf: ({ pictures, endedAtMs }) =>
        json({
          created: Math.floor(endedAtMs / 1000),
          data: pictures.map(bytes => {
            const base64 = bytes.toString('base64')
            return asUrl ? { url: `data:image/${format};base64,${base64}` } : { b64_json: base64 }
          }),
        }),
    },
    service,
  )
}

function sidesOf({ id, sideDivisor, longestSide }: ImageModel, size: SimpleImageRequest['size']) {
  const [width = defaultSide, height = defaultSide] = size && size !== 'auto' ? size.split('x').map(Number) : []
  if (Math.max(width, height) > longestSide || width % sideDivisor || height % sideDivisor) {
    throw fieldError(['size'], `${id} makes pictures of up to ${longestSide} pixels a side; ask for a smaller size`)
  }
  return { width, height }
}
