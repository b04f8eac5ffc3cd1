import { setTimeout as sleep } from 'node:timers/promises'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send, textOf } from '../send.ts'
import { chatOf, longChat } from './prompts.ts'

/** Streams that are read to their end. `[DONE]` is the acknowledgement; most of them tell their cost before it. */
export async function streamedChat(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) await streamOnce(round, seeded, { ...chatOf(seeded, 40), max_tokens: 1 + seeded.below(60) })
}

/** Streams of seconds and hundreds of tokens, so that what they owe is written down on the way. */
export async function longStreams(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) await streamOnce(round, seeded, longChat)
}

async function streamOnce(round: Round, seeded: Seeded, asked: object): Promise<void> {
  const { book } = round
  const include_usage = !seeded.once(4)
  const response = await send(round, {
    kind: 'stream',
    path: '/chat/completions',
    headers: { authorization: `Bearer ${seeded.pick(round.keys)}` },
    body: { ...asked, stream: true, stream_options: { include_usage } },
  })
  if (!response) return
  if (response.status !== 200) return void (await refused(round, 'stream', response))
  const end = await readToEnd(response)
  if (!end) {
    book.open.add(requestIdOf(response))
    if (!round.mayBreak()) book.surprise('stream', `broke off while the server was alive (${requestIdOf(response)})`)
    return
  }
  if (include_usage && end.costMicroUsd === null)
    book.surprise('stream', 'ended without the cost that it was asked for')
  book.charge('stream', requestIdOf(response), end.costMicroUsd)
}

/** Null where it broke off, or said that it failed. */
async function readToEnd(response: Response): Promise<{ costMicroUsd: bigint | null } | null> {
  let costMicroUsd: bigint | null = null
  try {
    for await (const data of readEvents(response)) {
      if (data === '[DONE]') return { costMicroUsd }
      const event = JSON.parse(data)
      if (isFailure(event)) return null
      costMicroUsd = costOf(event) ?? costMicroUsd
    }
  } catch {
    // The server was killed.
  }
  return null
}

/** The data of the events of a stream, as they come. Throws where it breaks; ends early where the reader leaves. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) yield event.replace(/^data: /, '')
  }
}

/** Whether an event says that the stream has failed: whatever follows it, nothing was acknowledged. */
export const isFailure = (event: unknown): boolean => typeof event === 'object' && event !== null && 'error' in event

/** Chat whose answer comes whole; its cost stands in it. */
export async function wholeChat(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await chatOnce(round, seeded, 'chat', { authorization: `Bearer ${seeded.pick(round.keys)}` })
  }
}

/** One of them, by the caller that these headers identify. */
export async function chatOnce(
  round: Round,
  seeded: Seeded,
  kind: 'chat' | 'wallet chat',
  headers: Record<string, string>,
): Promise<void> {
  const { book } = round
  const ended = book.beginChat()
  const response = await send(round, { kind, path: '/chat/completions', headers, body: chatOf(seeded, 400) })
  const body = response?.status === 200 ? await textOf(response) : null
  ended()
  if (!response) return
  if (response.status !== 200) return void (await refused(round, kind, response))
  // A body that broke off is no acknowledgement.
  if (body === null) return void book.open.add(requestIdOf(response))
  const cost = costOf(JSON.parse(body))
  if (cost === null) book.surprise(kind, `200 without a cost: ${body}`)
  book.charge(kind, requestIdOf(response), cost)
}

/** Streams that their reader leaves somewhere in the middle: charged for what had come, or not at all, and never held for long. */
export async function cutChat(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await cutOnce(round, seeded)
    await sleep(seeded.below(60))
  }
}

async function cutOnce(round: Round, seeded: Seeded): Promise<void> {
  const leaving = new AbortController()
  const response = await send(round, {
    kind: 'cut stream',
    path: '/chat/completions',
    headers: { authorization: `Bearer ${seeded.pick(round.keys)}` },
    body: { ...chatOf(seeded, 400), stream: true },
    signal: leaving.signal,
  })
  if (!response) return
  if (response.status !== 200) return void (await refused(round, 'cut stream', response))
  round.book.open.add(requestIdOf(response))
  let left = 1 + seeded.below(30)
  try {
    for await (const _ of readEvents(response)) {
      if (--left === 0) break
    }
    // Leaving the loop has cancelled the body; the connection goes with it.
    leaving.abort()
    round.book.count('cut stream')
  } catch {
    // The server was killed before its reader left.
  }
}
