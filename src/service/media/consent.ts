import { needsConsent } from '#contract/errors/errors.ts'
import type { FaceMediaRole } from '#contract/errors/failures.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { FaceDetector } from '#engines/ports/media-engines.ts'
import type { TakenMedium } from '#engines/video-media/video-media.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import type { ConsentPolicy, VideoModel } from '../models/model.ts'
import type { Attestations } from './attestations.ts'

export interface ConsentOrder {
  account: string
  model: VideoModel
  request: VideoQueueRequest
  media: readonly TakenMedium[]
  signal: AbortSignal
}

interface ConsentParts {
  faces: FaceDetector
  attestations: Attestations
  docsUrl: string
}

/**
 * Throws `needsConsent` where a medium with a face comes without a person's attestation (brief §3.2). Nothing is held or
 * charged before it; text alone never asks, and neither do bytes that this account has attested under the same policy.
 * What was attested now is for the unit that accepts the job: nobody's word is kept for what was never begun.
 */
export async function requireConsent(
  order: ConsentOrder,
  { faces, attestations, docsUrl }: ConsentParts,
): Promise<UseNonce[]> {
  const { account, model, request, media, signal } = order
  const { consent } = model
  refuseUnknownProviders(model, request)
  const shown = media.filter(({ role }) => role !== null)
  if (!consent || shown.length === 0) return []
  const under = { account, policy: `${consent.provider} ${consent.version}` }
  if (request.consents?.[consent.provider]) return attestations.marks(under, hashesOf(shown))
  const attested = await attestations.of(under, hashesOf(shown))
  const roles = await rolesWithFaces(
    shown.filter(({ hash }) => !attested.has(hash)),
    faces,
    signal,
  )
  if (roles.length) throw consentNeeded(consent, roles, docsUrl)
  return []
}

const hashesOf = (media: readonly TakenMedium[]): string[] => [...new Set(media.map(({ hash }) => hash))]

async function rolesWithFaces(
  media: readonly TakenMedium[],
  faces: FaceDetector,
  signal: AbortSignal,
): Promise<FaceMediaRole[]> {
  const roles = new Set<FaceMediaRole>()
  for (const medium of media) {
    const { role, rule } = medium
    if (role === null || roles.has(role) || rule.kind === 'audio') continue
    const shown = { kind: rule.kind, bytes: medium.bytes, format: medium.format }
    if (await faces.hasFace(shown, signal)) roles.add(role)
  }
  return [...roles]
}

const consentNeeded = ({ provider, title, version, text }: ConsentPolicy, roles: FaceMediaRole[], docsUrl: string) =>
  needsConsent({
    error: { code: 'needs_consent', message: `${title} consent is required for this request.` },
    consent_flow: provider,
    face_media_roles: roles,
    consent: { consent_version: version, policy_text: text },
    docs_url: docsUrl,
  })

/** Inside `consents` nothing unknown is taken: a person's word for one provider is not a word for another. */
function refuseUnknownProviders(model: VideoModel, request: VideoQueueRequest): void {
  const provider = model.consent?.provider
  for (const given of Object.keys(request.consents ?? {})) {
    if (given === provider) continue
    const allowed = provider ? `allowed value: ${provider}` : `${model.id} takes no consent; leave it out`
    throw fieldError(['consents', given.slice(0, 64)], `is not this model's provider; ${allowed}`)
  }
}

export interface Consent {
  /** Throws `needsConsent` where a person's word is missing. Nothing has been held or charged by then. Answers what keeps a word that was given now. */
  require(order: ConsentOrder): Promise<UseNonce[]>
}
