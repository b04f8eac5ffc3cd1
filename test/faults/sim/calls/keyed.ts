import { idempotencyKey, idempotentReplayed } from '#contract/wire/headers.ts'
import type { Seeded } from '../../seeded.ts'
import type { KeyedRequest } from '../call-records.ts'
import type { Caller } from '../callers.ts'
import type { World } from '../world.ts'
import { costOf } from './chat.ts'
import type { Visit } from './visit.ts'

/** A key is honoured for a day; clocks may be off by minutes. */
export const honouredMs = 23 * 3_600_000

const kinds = ['whole', 'stream', 'video'] as const

/** A request that its caller will send as often as it takes, under one key. */
export function newKeyedRequest(world: World, caller: Caller, draws: Seeded): KeyedRequest {
  const key = `key-${world.book.keyed.length}`
  const kind = draws.pick(kinds) ?? 'whole'
  const video = { model: 'demo-video', duration: '2s', resolution: '360p', prompt: 'Fog' }
  const chat = {
    model: 'demo-chat',
    user: key,
    messages: [{ role: 'user', content: 'x' }],
    max_tokens: 1 + draws.below(300),
    ...(kind === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
  const path = kind === 'video' ? '/api/v1/video/queue' : '/api/v1/chat/completions'
  const request = { key, caller, path, body: kind === 'video' ? video : chat, kind, sentAtMs: world.trueMs() }
  const keyed: KeyedRequest = { ...request, answer: null, cost: null }
  world.book.keyed.push(keyed)
  return keyed
}

/** Sends it, for the first time or again. The first whole answer is the only one there ever is. */
export async function sendKeyed(visit: Visit, keyed: KeyedRequest, waits = false): Promise<void> {
  const { world, draws, name } = visit
  if (!waits && draws.once(5)) visit.leaveAfter(draws.below(3_000))
  const response = await visit.ask({
    method: 'POST',
    path: keyed.path,
    headers: { [idempotencyKey.name]: keyed.key },
    body: keyed.body,
  })
  const text = await visit.text(response)
  world.trace.tell(`${world.time.nowMs} ${name} ${visit.requestId} under ${keyed.key}: ${response.status}`)
  if (response.status === 409) world.sometimes.reached('a key was in use')
  if (response.status !== 200 || visit.hasLeft) return
  // It ended by an error event alone: the key will bring the answer.
  if (keyed.kind === 'stream' && !text.endsWith('data: [DONE]\n\n')) return
  if (world.trueMs() - keyed.sentAtMs > honouredMs) return
  if (keyed.answer !== null && keyed.answer !== text)
    world.broken(`${name}: key ${keyed.key} was answered ${text}, and before ${keyed.answer}.`)
  if (response.headers.get(idempotentReplayed.name) !== null)
    world.sometimes.reached('a request under a key was answered again, byte for byte')
  keyed.answer = text
  noteFirst(visit, keyed, text)
}

/** The same key with another request is the caller's mistake, and must never get the work of either. */
export async function misuseKey(visit: Visit, keyed: KeyedRequest): Promise<void> {
  const { world, name } = visit
  const response = await visit.ask({
    method: 'POST',
    path: keyed.path,
    headers: { [idempotencyKey.name]: keyed.key },
    body: { ...keyed.body, prompt: 'Snow', messages: [{ role: 'user', content: 'other' }] },
  })
  await visit.text(response)
  world.trace.tell(`${world.time.nowMs} ${name} other under ${keyed.key}: ${response.status}`)
  if (response.status === 422 || response.status === 400) world.sometimes.reached('a key came with another request')
  const isKnown = keyed.answer !== null && world.trueMs() - keyed.sentAtMs < honouredMs
  if (isKnown && response.status === 200) world.broken(`${name}: key ${keyed.key} was good for another request.`)
}

function noteFirst({ world, caller }: Visit, keyed: KeyedRequest, text: string): void {
  if (keyed.kind === 'video') {
    const { queue_id: id } = JSON.parse(text)
    const job = { account: caller.account, model: 'demo-video', delivered: false }
    if (!world.book.jobs.has(id)) world.book.jobs.set(id, job)
    return
  }
  const events = text.split('\n\n').filter(line => line.startsWith('data: {'))
  const last = keyed.kind === 'whole' ? text : (events.at(-1)?.slice('data: '.length) ?? '{}')
  keyed.cost = costOf(JSON.parse(last))
}
