import { setTimeout as sleep } from 'node:timers/promises'
import { loadMs, operationsBetweenKills } from './bounds.ts'
import { cutChat } from './loads/cut-chat.ts'
import { streamedChat } from './loads/streamed-chat.ts'
import { topUps } from './loads/top-up.ts'
import { queueVideos, retrieveVideos } from './loads/video.ts'
import { walletChat } from './loads/wallet-chat.ts'
import { wholeChat } from './loads/whole-chat.ts'
import type { Load, Round } from './round.ts'

/** How many of each run side by side: the slow ones more often, so that each kill finds some of every kind under way. */
const mix: readonly (readonly [name: string, load: Load, atOnce: number])[] = [
  ['chat', wholeChat, 2],
  ['stream', streamedChat, 4],
  ['cut', cutChat, 2],
  ['wallet', walletChat, 2],
  ['top-up', topUps, 3],
  ['queue', queueVideos, 1],
  ['retrieve', retrieveVideos, 1],
]

const pollMs = 5

/** Starts the load. `busy` resolves when so much was acknowledged that the kill may come, `ended` with what went wrong. */
export function startLoad(round: Round): { busy: Promise<void>; ended: Promise<string[]> } {
  const running = mix.flatMap(([name, load, atOnce]) =>
    Array.from({ length: atOnce }, (_, index) => load(round, round.seeded(`${name} ${index}`))),
  )
  const ended = Promise.allSettled(running).then(all =>
    all.flatMap(each => (each.status === 'rejected' ? [`A load broke: ${String(each.reason)}`] : [])),
  )
  return { busy: untilBusy(round), ended }
}

async function untilBusy({ book }: Round): Promise<void> {
  const wanted = book.total + operationsBetweenKills
  const deadlineMs = Date.now() + loadMs
  while (book.total < wanted) {
    if (Date.now() > deadlineMs) {
      book.surprises.push(`Fewer than ${operationsBetweenKills} operations were acknowledged within ${loadMs} ms.`)
      return
    }
    await sleep(pollMs)
  }
}
