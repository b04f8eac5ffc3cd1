import { requestIdNotFound } from '#contract/errors/errors.ts'
import { type Call, principalOf } from '../../http/call.ts'
import type { JobRequest } from '../../jobs/jobs.ts'
import type { Catalogue } from '../../models/catalogue.ts'

/** The job that a call asks after. Throws `requestIdNotFound` where its model makes jobs of the other type. */
export function askedJob(
  call: Call,
  body: { model: string; queue_id: string },
  { type, catalogue }: { type: JobRequest['type']; catalogue: Catalogue },
): JobRequest {
  const other = type === 'video' ? 'music' : 'video'
  if (catalogue.models.some(model => model.id === body.model && model.type === other)) throw requestIdNotFound()
  return { type, account: principalOf(call).account, jobId: body.queue_id, model: body.model }
}
