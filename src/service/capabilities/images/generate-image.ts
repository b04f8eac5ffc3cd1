import type { GenerateImageRequest } from '#contract/operations/images.ts'
import { type BytesReply, type Call, type JsonReply, json } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import { checkImage, hasSteps } from './check-image.ts'
import { type Made, makePictures } from './make-pictures.ts'

/** The native request (published contract §7.1). */
export async function answerGenerateImage(call: Call, body: GenerateImageRequest, service: Service) {
  const model = service.catalogue.image(body.model)
  checkImage(model, body)
  const { prompt, negative_prompt: negativePrompt, width, height, seed, steps, cfg_scale: cfgScale } = body
  const request = {
    ...{ prompt, width, height, count: body.variants, format: body.format ?? model.formats[0] },
    safeMode: body.safe_mode,
    ...(negativePrompt ? { negativePrompt } : {}),
    ...(seed ? { seed } : {}),
    ...(steps === undefined || !hasSteps(model) ? {} : { steps }),
    ...(cfgScale === undefined ? {} : { cfgScale }),
    ...(body.style_preset === undefined ? {} : { style: body.style_preset }),
  }
  const replyOf = (made: Made) => (body.return_binary ? bytesOf(made) : jsonOf(call.requestId, made))
  return makePictures(call, { model, request, replyOf }, service)
}

function bytesOf({ pictures: [bytes = Buffer.alloc(0)], format }: Made): BytesReply {
  return { kind: 'bytes', mimeType: `image/${format}`, bytes }
}

function jsonOf(requestId: string, { pictures, startedAtMs, endedAtMs }: Made): JsonReply {
  const total = endedAtMs - startedAtMs
  return json({
    id: `generate-image-${requestId}`,
    images: pictures.map(bytes => bytes.toString('base64')),
    timing: { inferenceDuration: total, inferencePreprocessingTime: 0, inferenceQueueTime: 0, total },
  })
}
