import { extname } from 'node:path'
import { json, type Reply } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import type { JobRequest } from '../../jobs/jobs.ts'

/** How far a job is, or its file whole in one answer; resuming is for download addresses. */
export async function answerFoundJob(
  { request, deletes }: { request: JobRequest; deletes: boolean },
  { jobs }: Service,
): Promise<Reply> {
  const found = await jobs.retrieve(request)
  if (found.state === 'status') {
    if (deletes && found.status.status === 'COMPLETED') await jobs.deleteOnceDelivered(request)
    return json(found.status)
  }
  const { path, bytes, mimeType } = found
  return {
    kind: 'file',
    path,
    bytes,
    mimeType,
    filename: `${request.jobId}${extname(path)}`,
    onEnd: async delivered => {
      if (delivered && deletes) await jobs.complete(request)
    },
  }
}
