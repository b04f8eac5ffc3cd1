import { createHash } from 'node:crypto'
import type { Operation } from '#contract/operations/operation.ts'
import { mediaOfRequest, queueVideo, type RequestMedium, type VideoQueueRequest } from '#contract/operations/video.ts'
import type { ConsentedMedium } from '#wallet/approvals/attested-media.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import type { Order } from '#wallet/terms/order.ts'
import type { Core } from '../core.ts'

/** A medium in which a person may be shown, as the wallet knows it again. */
export type ShownMedium = ConsentedMedium & { role: NonNullable<RequestMedium['role']> }

/** Those of a request whose body has passed its schema; none of other operations, about which no service asks. */
export function shownMedia(operation: Pick<Operation, 'id'> | null, body: unknown): ShownMedium[] {
  if (operation?.id !== queueVideo.id) return []
  return mediaOfRequest(body as VideoQueueRequest).flatMap(({ url, role }) => (role === null ? [] : [known(url, role)]))
}

/** The same bytes are one medium, however they are sent; of an address only the address is known here. */
function known(url: string, role: ShownMedium['role']): ShownMedium {
  const isAddress = !/^data:/i.test(url)
  const content = isAddress ? url : Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  return { hash: createHash('sha256').update(content).digest('hex'), isAddress, role }
}

/**
 * Throws the question where the request has media that went to this service with a consent to another request: the service
 * may know them by that and ask nobody, but an approval counts for its own request alone.
 */
export async function consentBefore(
  { approvals, policy, wallet }: Core,
  media: readonly ShownMedium[],
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
