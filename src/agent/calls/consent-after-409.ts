import { NeedsConsent } from '#contract/errors/failures.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { ConsentAttestation } from '#contract/operations/video.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import type { Order } from '#wallet/terms/order.ts'
import type { Core } from '../core.ts'
import type { ShownMedium } from './consented-media.ts'

/** A provider's key becomes the name of a member that we send. */
const providerPattern = /^[a-z][a-z0-9_-]{0,63}$/i

const agreed: ConsentAttestation = {
  confirmed_terms_and_privacy: true,
  confirmed_legal_right: true,
  confirmed_screening_acknowledged: true,
}

/**
 * The members with which a person's consent goes along, where they have agreed to exactly this text for exactly this
 * request; throws the question where not. Null for another error.
 */
export async function consentAfter409(
  { approvals, policy, wallet }: Core,
  error: ServiceError,
  { operation, requestHash: hash, about }: NonNullable<Order['call']>,
  media: readonly ShownMedium[],
) {
  if (error.kind !== 'needs_consent') return null
  const {
    consent_flow: provider,
    consent,
    docs_url: docsUrl,
    face_media_roles: faceMediaRoles,
  } = NeedsConsent.parse(error.body)
  if (!providerPattern.test(provider) || provider === '__proto__') return null
  const { policy_text: policyText, consent_version: policyVersion } = consent
  const facts = { kind: 'consent', provider, policyText, policyVersion, docsUrl, faceMediaRoles } as const
  const call = { origin: policy.origin, operation, address: wallet?.address ?? null, about }
  if (!(await approvals.isApproved(facts, hash, about))) throw new NeedsApproval(await approvals.ask(facts, hash, call))
  const consented = media.filter(({ role }) => faceMediaRoles.length === 0 || faceMediaRoles.includes(role))
  await approvals.noteAttested(policy.origin, facts, consented)
  return { consents: { [provider]: agreed } }
}
