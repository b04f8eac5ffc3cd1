import { requestIdNotFound } from '#contract/errors/errors.ts'
import { modelId, modelName, modelRouter } from '#contract/wire/headers.ts'
import { type Call, json, principalOf, type Reply } from '../http/route.ts'
import { tellRemaining } from '../http/sell.ts'
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
  { call, request, deletes }: { call: Call; request: JobRequest; deletes: boolean },
  service: Service,
): Promise<Reply> {
  const { jobs } = service
  const found = await jobs.retrieve(request)
  await tellPaid(call, request, service)
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

/** Deletes what a job has made. */
export async function completeFoundJob(call: Call, request: JobRequest, service: Service) {
  const success = await service.jobs.complete(request)
  await tellPaid(call, request, service)
  return json({ success })
}

/** The headers of the call that was paid (brief §2.3, §9), for those that fetch or delete what it has bought. */
async function tellPaid(call: Call, { type, model: id }: JobRequest, { catalogue }: Service): Promise<void> {
  const model = catalogue.asked(type, id)
  if (model) {
    call.set(modelId, model.id)
    call.set(modelName, model.name)
    call.set(modelRouter, model.engineName)
  }
  // Without staking credit, like every call that is charged.
  tellRemaining(call, (await call.spendable()).usd)
}
