import { needsConsent } from '#contract/errors.ts'
import type { FaceMediaRole } from '#contract/failures.ts'
import type { VideoQueueRequest } from '#contract/video.ts'
import type { FaceDetector } from '../media/face-detector.ts'
import { fieldError } from '../models/field-error.ts'
import type { VideoModel } from '../models/model.ts'

interface RoledMedia {
  role: FaceMediaRole
  url: string
}

/** The media that a face may be in, with the roles that the contract names (brief §3.2). */
export function faceMedia(request: VideoQueueRequest): RoledMedia[] {
  const media: RoledMedia[] = []
  const add = (role: FaceMediaRole, ...urls: (string | undefined)[]) => {
    for (const url of urls) if (url) media.push({ role, url })
  }
  add('image', request.image_url)
  add('end_image', request.end_image_url)
  add('video', request.video_url)
  add('reference_image', ...(request.reference_image_urls ?? []), ...(request.scene_image_urls ?? []))
  add('reference_video', ...(request.reference_video_urls ?? []))
  for (const element of request.elements ?? []) {
    add('reference_image', element.frontal_image_url, ...(element.reference_image_urls ?? []))
    add('reference_video', element.video_url)
  }
  return media
}

/**
 * Throws `needsConsent` where a picture with a face comes without a person's attestation. Nothing is held or charged
 * before it; text alone never asks.
 */
export async function requireConsent(
  model: VideoModel,
  request: VideoQueueRequest,
  faces: FaceDetector,
  docsUrl: string,
): Promise<void> {
  const { consent } = model
  refuseUnknownProviders(model, request)
  if (!consent || request.consents?.[consent.provider]) return
  const roles = new Set<FaceMediaRole>()
  for (const { role, url } of faceMedia(request)) {
    if (!roles.has(role) && (await faces.hasFace(url))) roles.add(role)
  }
  if (!roles.size) return
  throw needsConsent({
    error: { code: 'needs_consent', message: `${consent.title} consent is required for this request.` },
    consent_flow: consent.provider,
    face_media_roles: [...roles],
    consent: { consent_version: consent.version, policy_text: consent.text },
    docs_url: docsUrl,
  })
}

/** Inside `consents` nothing unknown is taken: a person's word for one provider is not a word for another. */
function refuseUnknownProviders(model: VideoModel, request: VideoQueueRequest): void {
  const provider = model.consent?.provider
  for (const given of Object.keys(request.consents ?? {})) {
    if (given === provider) continue
    const allowed = provider ? `allowed value: ${provider}` : `${model.id} takes no consent; leave it out`
    throw fieldError(['consents', given.slice(0, 64)], `is not this model's provider; ${allowed}`)
  }
}
