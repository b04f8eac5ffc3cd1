import { fromUsdNumber } from '#contract/money.ts'
import type { QueuedJob } from '../call-records.ts'
import type { Visit } from './visit.ts'

const bodyOf = ({ draws }: Visit) => ({
  model: draws.once(3) ? 'demo-video-url' : 'demo-video',
  duration: draws.once(2) ? '2s' : '3s',
  resolution: draws.once(2) ? '360p' : '480p',
})

/** A quote, and a video at that price. */
export async function queueVideo(visit: Visit): Promise<void> {
  const { world, caller, draws } = visit
  const asked = bodyOf(visit)
  const quoted = await visit.ask({ method: 'POST', path: '/api/v1/video/quote', body: asked })
  const told = await visit.text(quoted)
  if (quoted.status !== 200) return visit.answered(quoted.status)
  const quote = fromUsdNumber(JSON.parse(told).quote) ?? 0n
  if (draws.once(8)) visit.leaveAfter(draws.below(30))
  const response = await visit.ask({
    method: 'POST',
    path: '/api/v1/video/queue',
    body: { ...asked, prompt: 'Fog' },
  })
  const text = await visit.text(response)
  const cost = response.status === 200 ? quote : null
  visit.answered(response.status, { cost })
  if (response.status !== 200) return
  const { queue_id: id } = JSON.parse(text)
  world.sometimes.reached('a video was queued')
  world.book.jobs.set(id, { account: caller.account, model: asked.model, delivered: false })
}

/** Asks after a video; its file must be whole. */
export async function retrieveVideo(visit: Visit, id: string, job: QueuedJob): Promise<void> {
  const { world, draws } = visit
  const response = await visit.ask({
    method: 'POST',
    path: '/api/v1/video/retrieve',
    body: { model: job.model, queue_id: id, delete_media_on_completion: draws.once(4) },
  })
  const text = await visit.text(response)
  visit.answered(response.status)
  if (response.headers.get('content-type') !== 'video/mp4') return
  if (text !== `video ${id}`) world.broken(`The file of job ${id} is not its own.`)
  world.sometimes.reached('a video was delivered')
  job.delivered = true
}
