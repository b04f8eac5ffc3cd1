import { contentViolation, moderationFailed } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { ImageFormat } from '#contract/operations/images.ts'
import { containsMinor, isAdultModelContentViolation, isBlurred, isContentViolation } from '#contract/wire/headers.ts'
import { blurImage } from '#engines/images/raster.ts'
import type { EngineFinding, ImageFinding } from '#engines/ports/image-engines.ts'
import type { Call } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'

export interface ModeratedWork {
  format: ImageFormat
  /** Whether sexual images are blurred; absent where the operation has no such choice, and its images are not looked at. */
  safeMode?: boolean
  /** `found` takes what the engine says that it found itself. */
  make(found: (finding: EngineFinding) => void): Promise<readonly Buffer[]>
}

/**
 * Images as they may be sold. What was found in them stands in headers (brief §9), and nothing does where nobody looked.
 * Throws `contentViolation` for a sexual image of a minor, and `moderationFailed` where the moderator could not look.
 */
export async function moderatedImages(
  call: Call,
  { format, safeMode, make }: ModeratedWork,
  service: Pick<Service, 'moderator' | 'log'>,
): Promise<readonly Buffer[]> {
  let told: EngineFinding = {}
  const images = await make(finding => {
    told = { ...told, ...finding }
  }).catch(error => {
    const isRefused = error instanceof ServiceError && error.kind === 'CONTENT_POLICY_VIOLATION'
    if (isRefused) call.set(isContentViolation, true)
    throw error
  })
  tellEngine(call, told)
  if (!service.moderator || safeMode === undefined) return images
  const findings = await Promise.all(images.map(image => judge(image, call, service)))
  tell(call, findings, { safeMode, told })
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
    log.warn({ requestId, err: error }, 'An image could not be moderated; it was not sold.')
    throw moderationFailed()
  }
}

function tellEngine(call: Call, told: EngineFinding): void {
  if (told.isBlurred !== undefined) call.set(isBlurred, told.isBlurred)
  if (told.isViolation !== undefined) call.set(isContentViolation, told.isViolation)
  if (told.isAdultViolation !== undefined) call.set(isAdultModelContentViolation, told.isAdultViolation)
  if (told.containsMinor !== undefined) call.set(containsMinor, told.containsMinor)
}

/** Safe mode is a policy too: what it blurs violates it. A finding of the engine is not taken back. */
function tell(
  call: Call,
  findings: readonly ImageFinding[],
  { safeMode, told }: { safeMode: boolean; told: EngineFinding },
): void {
  const isHidden = safeMode && findings.some(({ isAdult }) => isAdult)
  if (safeMode) call.set(isBlurred, isHidden || told.isBlurred === true)
  call.set(
    isContentViolation,
    isHidden || told.isViolation === true || findings.some(({ isViolation }) => isViolation === true),
  )
  if (findings.some(finding => finding.containsMinor === null)) return
  const minors = findings.filter(finding => finding.containsMinor)
  call.set(containsMinor, minors.length > 0 || told.containsMinor === true)
  call.set(isAdultModelContentViolation, minors.some(({ isAdult }) => isAdult) || told.isAdultViolation === true)
}
