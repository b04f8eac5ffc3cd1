import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fromUsdNumber } from '#contract/money.ts'
import { videosInAll } from '../bounds.ts'
import type { QueuedJob } from '../load-records.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { refused, requestIdOf, send, textOf } from '../send.ts'

const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key}` })

/** Queued videos: the quote is the charge, and the job is there as soon as it is acknowledged. */
export async function queueVideos(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await sleep(20 + seeded.below(150))
    if (round.isOver() || round.budget.videos <= 0 || round.book.jobs.size >= videosInAll) continue
    round.budget.videos--
    await queueOnce(round, seeded)
  }
}

async function queueOnce(round: Round, seeded: Seeded): Promise<void> {
  const { book } = round
  const key = seeded.pick(round.keys) ?? ''
  const model = seeded.pick(['demo-video', 'demo-video-url']) ?? ''
  const priced = { model, duration: '2s', resolution: '360p', aspect_ratio: '16:9', audio: seeded.once(2) }
  const quoted = await send(round, { kind: 'video queue', path: '/video/quote', headers: bearer(key), body: priced })
  const quote = quoted?.status === 200 ? await textOf(quoted) : null
  if (quote === null) return
  const quoteMicroUsd = fromUsdNumber((JSON.parse(quote) as { quote: number }).quote) ?? 0n
  const response = await send(round, {
    kind: 'video queue',
    path: '/video/queue',
    headers: bearer(key),
    body: { ...priced, prompt: `Number ${seeded.below(1e6)} on a hill` },
  })
  if (!response) return
  if (response.status !== 200) return void (await refused(round, 'video queue', response))
  const body = await textOf(response)
  const requestId = requestIdOf(response)
  if (body === null) return void book.open.add(requestId)
  const { queue_id: jobId } = JSON.parse(body) as { queue_id: string }
  book.jobs.set(jobId, { requestId, model, key, quoteMicroUsd, file: null, completed: false })
  book.charge('video queue', requestId, quoteMicroUsd)
}

/** Asks after jobs of this start and of earlier ones. What was once finished stays so, byte for byte. */
export async function retrieveVideos(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await sleep(100 + seeded.below(200))
    const [jobId, job] = seeded.pick([...round.book.jobs]) ?? []
    if (jobId && job && !round.isOver()) await retrieveOnce(round, jobId, job)
  }
}

export async function retrieveOnce(round: Round, jobId: string, job: QueuedJob): Promise<void> {
  const { book } = round
  const body = { model: job.model, queue_id: jobId }
  const response = await send(round, { kind: 'retrieve', path: '/video/retrieve', headers: bearer(job.key), body })
  if (!response) return
  // A job that failed is answered as such; its refund is looked for in the ledger.
  if (response.status !== 200) return void (await refused(round, 'retrieve', response, book.videosMayFail ? [500] : []))
  const bytes = await response.arrayBuffer().catch(() => null)
  if (!bytes) return
  book.count('retrieve')
  const isFile = response.headers.get('content-type') === 'video/mp4'
  const isDone = isFile || JSON.parse(Buffer.from(bytes).toString()).status === 'COMPLETED'
  if (job.completed && !isDone) book.surprise('retrieve', `job ${jobId} was finished and is not any more`)
  job.completed ||= isDone
  if (!isFile) return
  const file = createHash('sha256').update(Buffer.from(bytes)).digest('hex')
  if (job.file !== null && job.file !== file) book.surprise('retrieve', `job ${jobId} was delivered as another file`)
  job.file ??= file
}
