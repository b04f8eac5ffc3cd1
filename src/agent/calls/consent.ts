import { createHash } from 'node:crypto'
import { NeedsConsent } from '#contract/errors/failures.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import {
  type ConsentAttestation,
  mediaOfRequest,
  queueVideo,
  type RequestMediaItem,
  type VideoQueueRequest,
} from '#contract/operations/video.ts'
import type { ConsentedMediaItem } from '#wallet/approvals/attested-media.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import type { Order } from '#wallet/terms/order.ts'
import type { AgentContext } from '../context.ts'

/** A media file that may show a person, in a form by which the wallet recognizes it. */
type ShownMediaItem = ConsentedMediaItem & { role: NonNullable<RequestMediaItem['role']> }

/** Returns the media of a validated request that may show a person; none for operations without consent. */
export function shownMedia(operation: Pick<Operation, 'id'> | null, body: unknown): ShownMediaItem[] {
  if (operation?.id !== queueVideo.id) return []
  return mediaOfRequest(body as VideoQueueRequest).flatMap(({ url, role }) => (role === null ? [] : [known(url, role)]))
}

/**
 * The same bytes are one media file, however they are sent. A URL is compared as text, because its contents are unknown
 * here.
 */
function known(url: string, role: ShownMediaItem['role']): ShownMediaItem {
  const isAddress = !/^data:/i.test(url)
  const content = isAddress ? url : Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  return { hash: createHash('sha256').update(content).digest('hex'), isAddress, role }
}

/**
 * Throws a request for approval if this service has received some of the media before, with a consent to another
 * request: it may recognize them and not ask, but an approval applies only to its own request.
 */
export async function consentBefore(
  { approvals, policy, wallet }: AgentContext,
  media: readonly ShownMediaItem[],
  { operation, requestHash, about }: NonNullable<Order['call']>,
): Promise<void> {
  const found = await approvals.attested(policy.origin, media)
  if (!found) return
  const faceMediaRoles = [...new Set(media.filter(({ hash }) => found.hashes.has(hash)).map(({ role }) => role))]
  const facts = { ...found.facts, faceMediaRoles }
  if (await approvals.isApproved(facts, requestHash, about)) return
  const call = { origin: policy.origin, operation, address: wallet?.address ?? null, about }
  throw new NeedsApproval(await approvals.ask(facts, requestHash, call))
}

/** The provider's key becomes the name of a member that we send. */
const providerPattern = /^[a-z][a-z0-9_-]{0,63}$/i

const agreed: ConsentAttestation = {
  confirmed_terms_and_privacy: true,
  confirmed_legal_right: true,
  confirmed_screening_acknowledged: true,
}

/**
 * Returns the members that carry the user's consent, if the user has agreed to exactly this text for exactly this
 * request; otherwise throws the request for approval. Null for any other error.
 */
export async function consentAfter409(
  { approvals, policy, wallet }: AgentContext,
  error: ServiceError,
  { operation, requestHash: hash, about }: NonNullable<Order['call']>,
  media: readonly ShownMediaItem[],
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

/** Only the user can give consent, so any other value in that member is not sent. */
export function withConsents<O extends Operation>(call: CallOf<O>, consents: string | null): CallOf<O> {
  const { body } = call as { body?: unknown }
  if (typeof body !== 'object' || body === null) return call
  const { consents: _, ...rest } = body as Record<string, unknown>
  return { ...call, body: { ...rest, ...(consents === null ? {} : JSON.parse(consents)) } as typeof call.body }
}
