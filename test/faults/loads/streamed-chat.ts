import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send } from '../send.ts'
import { chatOf, longChat } from './prompts.ts'
import { isFailure, readEvents } from './read-events.ts'

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
