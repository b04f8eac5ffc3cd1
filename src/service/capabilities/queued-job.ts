import { requestIdNotFound } from '#contract/errors/errors.ts'
import { type Call, json, principalOf, type Reply } from '../http/route.ts'
import type { Service } from '../http/service.ts'
import type { JobRequest } from '../jobs/jobs.ts'
import type { Catalogue } from '../models/catalogue.ts'

/** Returns the job that a call names. Throws `requestIdNotFound` if its model makes jobs of the other type. */
export function askedJob(
  call: Call,
  body: { model: string; queue_id: string },
  { type, catalogue }: { type: JobRequest['type']; catalogue: Catalogue },
): JobRequest {
  const other = type === 'video' ? 'music' : 'video'
  if (catalogue.models.some(model => model.id === body.model && model.type === other)) throw requestIdNotFound()
  return { type, account: principalOf(call).account, jobId: body.queue_id, model: body.model }
}

/** Returns a job's status, or its whole file in one answer; only download addresses can be resumed. */
export async function answerFoundJob(
  { request, deletes }: { request: JobRequest; deletes: boolean },
  { jobs }: Service,
): Promise<Reply> {
  const found = await jobs.retrieve(request)
  if (found.state === 'status') {
    if (deletes && found.status.status === 'COMPLETED') await jobs.deleteOnceDelivered(request)
    return json(found.status)
  }
  const { name, bytes, mimeType, read } = found
  return {
    kind: 'file',
    read,
    bytes,
    mimeType,
    filename: name,
    onEnd: async delivered => {
      if (delivered && deletes) await jobs.complete(request)
    },
  }
}
