import { setTimeout as sleep } from 'node:timers/promises'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { refused, requestIdOf, send } from '../send.ts'
import { chatOf } from './prompts.ts'
import { readEvents } from './read-events.ts'

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
