import { setTimeout as sleep } from 'node:timers/promises'
import { fromUsdNumber } from '#contract/money.ts'
import { TopUpResult } from '#contract/operations/wallet.ts'
import type { LoadKind, SignedTopUp } from '../load-records.ts'
import { isFailure, readEvents } from '../loads/chats.ts'
import { costOf, requestIdOf } from '../send.ts'
import type { NthWorld } from './nth-world.ts'

/** One action of a caller, whose answer is recorded whatever it is. */
export interface NthFlow {
  name: string
  run(world: NthWorld): Promise<void>
}

const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Count to 12.' }] }

/** Notes a refusal: a clear error of the server's, and nothing charged for it. */
async function isRefused({ book }: NthWorld, kind: LoadKind, response: Response): Promise<boolean> {
  if (response.status === 200) return false
  const text = await response.text()
  if (response.status < 500) book.surprise(kind, `${response.status} ${text}`)
  book.refused.set(requestIdOf(response), response.status)
  return true
}

async function wholeChat(world: NthWorld): Promise<void> {
  const response = await world.service.post('/chat/completions', chat, world.key)
  if (await isRefused(world, 'chat', response)) return
  world.book.charge('chat', requestIdOf(response), costOf((await response.json()) as { cost?: { usd?: unknown } }))
}

async function stream(world: NthWorld, events = Number.POSITIVE_INFINITY): Promise<void> {
  const body = { ...chat, stream: true, stream_options: { include_usage: true } }
  const response = await world.service.post('/chat/completions', body, world.key)
  if (await isRefused(world, 'stream', response)) return
  const requestId = requestIdOf(response)
  let costMicroUsd: bigint | null = null
  let left = events
  try {
    for await (const data of readEvents(response)) {
      if (data === '[DONE]') return world.book.charge('stream', requestId, costMicroUsd)
      const event = JSON.parse(data)
      if (isFailure(event)) break
      costMicroUsd = costOf(event) ?? costMicroUsd
      if (--left === 0) break
    }
  } catch {
    // It broke off, as it may where nothing more can be written.
  }
  world.book.open.add(requestId)
}

async function video(world: NthWorld, prompt: string): Promise<void> {
  const asked = { model: 'demo-video', duration: '2s', resolution: '360p', aspect_ratio: '16:9', audio: false }
  const quoted = await world.service.post('/video/quote', asked, world.key)
  const { quote } = (await quoted.json()) as { quote: number }
  const response = await world.service.post('/video/queue', { ...asked, prompt }, world.key)
  if (await isRefused(world, 'video queue', response)) return
  const { queue_id } = (await response.json()) as { queue_id: string }
  const quoteMicroUsd = fromUsdNumber(quote) ?? 0n
  const job = { requestId: requestIdOf(response), model: asked.model, key: world.key, quoteMicroUsd }
  world.book.jobs.set(queue_id, { ...job, file: null, completed: false })
  world.book.charge('video queue', job.requestId, quoteMicroUsd)
  await untilJobsEnd(world, shortlyMs)
}

/** A job that met the failure is left to the next start. */
const shortlyMs = 1_500
const longMs = 15_000
const pollMs = 20

/** Resolves when no job is under way, or it takes too long. */
export async function untilJobsEnd({ service }: NthWorld, ms = longMs): Promise<void> {
  for (const endMs = Date.now() + ms; Date.now() < endMs; await sleep(pollMs)) {
    const open = await service.store.read
      .selectFrom('job')
      .select('id')
      .where('state', 'in', ['queued', 'running'])
      .execute()
    if (!open.length) return
  }
}

async function topUp(world: NthWorld): Promise<void> {
  await pay(world, await world.sign())
}

/** Sends a payment; a 5xx that does not ask for a new signature is an answer as well. */
export async function pay({ service, book }: NthWorld, payment: SignedTopUp): Promise<void> {
  const response = await service.request('/api/v1/x402/top-up', {
    method: 'POST',
    headers: { 'payment-signature': payment.header },
  })
  const body = await response.text()
  if (response.status !== 200) {
    if (response.status < 500) book.surprise('top-up', `${response.status} ${body}`)
    return
  }
  if (payment.acknowledged && payment.acknowledged.body !== body) {
    book.surprise('resend', `${payment.acknowledged.body} became ${body}`)
  }
  const { data } = TopUpResult.parse(JSON.parse(body))
  const settled = Buffer.from(response.headers.get('payment-response') ?? '', 'base64').toString()
  payment.acknowledged ??= {
    body,
    transaction: (JSON.parse(settled) as { transaction: string }).transaction,
    newBalanceMicroUsd: fromUsdNumber(data.newBalance) ?? -1n,
  }
}

export const nthFlows: readonly NthFlow[] = [
  { name: 'chat', run: wholeChat },
  { name: 'stream', run: stream },
  { name: 'stream that is left', run: world => stream(world, 3) },
  { name: 'video', run: world => video(world, 'A hill') },
  { name: 'video that fails', run: world => video(world, 'A hill that fails') },
  { name: 'top-up', run: topUp },
]
