import { retrieveVideo } from '#contract/video.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

/** The whole file in one answer where the model delivers inline; resuming is for download addresses. */
export const retrieveVideoRoute = route(retrieveVideo, async (call, service) => {
  const request = { account: principalOf(call).account, jobId: call.body.queue_id, model: call.body.model }
  const found = await service.jobs.retrieve(request)
  if (found.state === 'status') return json(found.status)
  const { path, bytes, mimeType } = found
  return {
    kind: 'file',
    path,
    bytes,
    mimeType,
    filename: `${call.body.queue_id}.mp4`,
    onEnd: async delivered => {
      if (delivered && call.body.delete_media_on_completion) await service.jobs.complete(request)
    },
  }
})
