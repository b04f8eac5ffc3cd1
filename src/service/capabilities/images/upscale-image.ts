import { upscaleFailed } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { UpscaleImageRequest } from '#contract/operations/images.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import type { UpscaleRequest } from '#engines/ports/image-engines.ts'
import type { Call } from '../../http/call.ts'
import { requireFunds } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import { requireCarried } from '../../models/carried-choices.ts'
import type { UpscaleModel } from '../../models/model.ts'
import { upscalePrice } from './price-image.ts'
import { sellImage } from './sell-image.ts'
import { sourceImage, tooLargeImage } from './source-image.ts'

/** What the published contract takes where a request does not say, or says null. */
const defaultCreativity = 0.5
const defaultReplication = 0.35

/** Published contract §7.5. */
export async function answerUpscaleImage(call: Call, body: UpscaleImageRequest, service: Service) {
  const model = service.catalogue.upscale(body.model)
  const { scale } = body
  const enhance = enhanceOf(model, body)
  const amount = upscalePrice(model, scale)
  await requireFunds(call, amount)
  const { fetcher } = service
  const picture = await sourceImage({ path: ['image'], input: body.image }, { model, fetcher, signal: call.signal })
  requireRoom(model, picture, scale)
  const request = { picture, scale, ...(enhance ? { enhance } : {}) }
  const make = () => model.engine.upscale({ request, engineModel: model.engineModel, signal: call.signal })
  const sku = scale <= 2 ? 'image.upscale.2x' : 'image.upscale.4x'
  return sellImage(call, { model, amount, sku, format: 'png', failed: () => upscaleFailed(), make }, service)
}

function enhanceOf(model: UpscaleModel, body: UpscaleImageRequest): UpscaleRequest['enhance'] {
  if (!body.enhance) {
    if (body.scale === 1) throw fieldError(['scale'], 'a scale of 1 is for enhance alone; ask for more than 1')
    return undefined
  }
  if (!model.hasEnhance) throw fieldError(['enhance'], `${model.id} does not take enhance; leave it out`)
  const creativity = otherThan(defaultCreativity, body.enhanceCreativity)
  const replication = otherThan(defaultReplication, body.replication)
  requireCarried(model, { enhanceCreativity: creativity, replication, enhancePrompt: body.enhancePrompt })
  return {
    creativity: body.enhanceCreativity ?? defaultCreativity,
    replication: body.replication ?? defaultReplication,
    ...(body.enhancePrompt ? { prompt: body.enhancePrompt } : {}),
  }
}

/** A default is nobody's choice. */
const otherThan = (usual: number, asked: number | null | undefined): number | undefined =>
  asked === usual ? undefined : (asked ?? undefined)

function requireRoom({ id, mostMadePixels }: UpscaleModel, { width, height }: ImageFile, scale: number): void {
  if (Math.round(width * scale) * Math.round(height * scale) <= mostMadePixels) return
  const problem = `is ${width} by ${height}; ${id} makes ${mostMadePixels} pixels in all at most: ask for a smaller scale`
  throw tooLargeImage(['image'], problem)
}
