import { contentViolation, moderationFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { type MicroUsd, microUsd, picoPerMicro } from '#contract/money.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { containsMinor, isAdultModelContentViolation, isBlurred, isContentViolation } from '#contract/wire/headers.ts'
import { typeOfBytes } from '#contract/wire/image-header.ts'
import { imageFileBytes } from '#engines/images/image-file.ts'
import { blurImage } from '#engines/images/raster.ts'
import type { EditRequest, EngineFinding, ImageFinding, ImageRequest } from '#engines/ports/media-engines.ts'
import { boundedWait } from '#host/async.ts'
import { PackageMissing } from '#host/packages.ts'
import type { Line } from '#ledger/store/units.ts'
import type { BytesReply, Call, JsonReply } from '../../http/route.ts'
import { sell } from '../../http/sell.ts'
import type { Service } from '../../http/service.ts'
import type { EditModel, ImageInputModel, ImageModel, UpscaleModel } from '../../models/model.ts'
import { unset } from '../web/routes.ts'

interface OneImage {
  model: ImageInputModel
  amount: MicroUsd
  sku: string
  format: ImageFormat
  /** Whether the caller wants sexual images blurred; absent if the operation has no such option. */
  safeMode?: boolean
  /** The error for a caller if the engine fails without a reason. */
  failed: () => ServiceError
  make(): Promise<Buffer>
}

/** Holds the price of one image, has it made, and charges for it once it is valid. */
export function sellImage(call: Call, order: OneImage, service: Service): Promise<BytesReply> {
  const { model, amount, sku, format } = order
  return sell(call, { model: model.id, amount }, service, async () => {
    const work = { ...order, make: async () => [await made(call, order, service)] }
    const [bytes = Buffer.alloc(0)] = await moderatedImages(call, work, service)
    const reply: BytesReply = { kind: 'bytes', mimeType: `image/${format}`, bytes }
    return { value: reply, lines: oneImageLine(sku, amount), alsoCommit: () => call.keep(() => reply) }
  })
}

/** A `ServiceError` from an engine is the answer; anything else is only logged. */
async function made({ signal, requestId }: Call, { make, failed, format }: OneImage, { log }: Service) {
  try {
    const bytes = await boundedWait(make(), { signal })
    signal.throwIfAborted()
    if (bytes.length <= imageFileBytes && typeOfBytes(bytes) === format) return bytes
    throw new Error(`The engine returned no ${format} for this request.`)
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof ServiceError && error.kind !== 'INFERENCE_FAILED') throw error
    if (error instanceof PackageMissing) {
      log.warn({ requestId, err: error }, 'An image could not be read or written because a package is missing.')
      throw unset(
        'This service reads and writes only PNG images. Send a PNG and request one, or ask its operator to enable other formats.',
      )
    }
    log.warn({ requestId, err: error }, 'An engine failed to make an image; nothing was charged.')
    throw failed()
  }
}

interface ImageOrder {
  model: ImageModel
  request: ImageRequest
  /** Builds the answer once the images exist. */
  replyOf(made: Made): JsonReply | BytesReply
}

export interface Made {
  images: readonly Buffer[]
  format: ImageFormat
  startedAtMs: number
  endedAtMs: number
}

/** Holds the price of all images, and charges those that the engine made. */
export async function sellGeneratedImages(call: Call, { model, request, replyOf }: ImageOrder, service: Service) {
  const sale = { model: model.id, amount: microUsd(model.price.perImageMicroUsd * BigInt(request.count)) }
  return sell(call, sale, service, async () => {
    const { signal } = call
    const startedAtMs = service.clock.now()
    const { engineModel } = model
    const images = await moderatedImages(
      call,
      {
        ...request,
        make: async found => {
          const asked = { request, engineModel, signal, found }
          return checked(await boundedWait(model.engine.generate(asked), { signal }), request)
        },
      },
      service,
    )
    signal.throwIfAborted()
    const reply = replyOf({ images, format: request.format, startedAtMs, endedAtMs: service.clock.now() })
    return { value: reply, lines: imageLines(model, images.length), alsoCommit: () => call.keep(() => reply) }
  })
}

/** A result that is not an image in the requested format is not sold. */
function checked(images: readonly Buffer[], { count, format }: ImageRequest): readonly Buffer[] {
  const areGood = images.every(bytes => bytes.length <= imageFileBytes && typeOfBytes(bytes) === format)
  if (images.length === 0 || images.length > count || !areGood) {
    throw new Error(`The engine returned no ${format} for this request.`)
  }
  return images
}

interface ModeratedWork {
  format: ImageFormat
  /** Whether sexual images are blurred; absent if the operation has no such option and its images are not checked. */
  safeMode?: boolean
  /** `found` receives the engine's own findings. */
  make(found: (finding: EngineFinding) => void): Promise<readonly Buffer[]>
}

/**
 * Returns images that may be sold. Headers report what was found in them (brief §9), and are absent if nothing was
 * checked. Throws `contentViolation` for a sexual image of a minor, and `moderationFailed` if the moderator could not
 * check.
 */
async function moderatedImages(
  call: Call,
  { format, safeMode, make }: ModeratedWork,
  service: Pick<Service, 'moderator' | 'log'>,
): Promise<readonly Buffer[]> {
  let reported: EngineFinding = {}
  const images = await make(finding => {
    reported = { ...reported, ...finding }
  })
  tellEngine(call, reported)
  if (!service.moderator || safeMode === undefined) return images
  const findings = await Promise.all(images.map(image => judge(image, call, service)))
  tell(call, findings, { safeMode, reported })
  if (findings.some(({ isAdult, containsMinor }) => isAdult && containsMinor)) {
    throw contentViolation({ error: 'Your prompt violates the content policy of Service or the model provider' })
  }
  const hides = ({ isAdult }: ImageFinding) => safeMode && isAdult
  return Promise.all(
    images.map((image, at) => (hides(findings[at] as ImageFinding) ? blurImage(image, format) : image)),
  )
}

async function judge(image: Buffer, call: Call, { moderator, log }: Pick<Service, 'moderator' | 'log'>) {
  const { signal, requestId } = call
  try {
    if (!moderator) throw new Error('There is no moderator.')
    return await moderator.judge(image, signal)
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ requestId, err: error }, 'An image could not be moderated, so it was not delivered.')
    throw moderationFailed()
  }
}

function tellEngine(call: Call, reported: EngineFinding): void {
  if (reported.isBlurred !== undefined) call.set(isBlurred, reported.isBlurred)
  if (reported.isViolation !== undefined) call.set(isContentViolation, reported.isViolation)
  if (reported.isAdultViolation !== undefined) call.set(isAdultModelContentViolation, reported.isAdultViolation)
  if (reported.containsMinor !== undefined) call.set(containsMinor, reported.containsMinor)
}

/** Safe mode is a policy too, so an image that it blurs violates a policy. An engine's finding is never withdrawn. */
function tell(
  call: Call,
  findings: readonly ImageFinding[],
  { safeMode, reported }: { safeMode: boolean; reported: EngineFinding },
): void {
  const isHidden = safeMode && findings.some(({ isAdult }) => isAdult)
  if (safeMode) call.set(isBlurred, isHidden || reported.isBlurred === true)
  call.set(
    isContentViolation,
    isHidden || reported.isViolation === true || findings.some(({ isViolation }) => isViolation === true),
  )
  if (findings.some(finding => finding.containsMinor === null)) return
  const minors = findings.filter(finding => finding.containsMinor)
  call.set(containsMinor, minors.length > 0 || reported.containsMinor === true)
  call.set(isAdultModelContentViolation, minors.some(({ isAdult }) => isAdult) || reported.isAdultViolation === true)
}

function imageLines({ price }: Pick<ImageModel, 'price'>, images: number): Line[] {
  const units = BigInt(images)
  const unitPricePicoUsd = price.perImageMicroUsd * picoPerMicro
  return [{ sku: 'image.generation', units, unitPricePicoUsd, amount: microUsd(units * price.perImageMicroUsd) }]
}

/** One line for one image, which is charged fully or not at all. */
function oneImageLine(sku: string, amount: MicroUsd): Line[] {
  return [{ sku, units: 1n, unitPricePicoUsd: amount * picoPerMicro, amount }]
}

/** Returns the price by resolution and quality, if the model's price depends on them. */
export function editPrice({ price }: EditModel, { resolution, quality }: Pick<EditRequest, 'resolution' | 'quality'>) {
  const named = resolution ?? Object.keys(price.resolutions ?? {})[0] ?? ''
  const byQuality = quality === undefined ? undefined : price.quality?.[named]?.[quality]
  return byQuality ?? price.resolutions?.[named] ?? price.perImageMicroUsd
}

/** Returns the price in the record: for a scale up to two, or for a larger one. */
export const upscalePrice = ({ price }: UpscaleModel, scale: number): MicroUsd =>
  scale <= 2 ? price.twiceMicroUsd : price.fourTimesMicroUsd
