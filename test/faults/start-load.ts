import { setTimeout as sleep } from 'node:timers/promises'
import { loadMs, operationsBetweenKills, streamReadMs, streamsBeforeKill } from './bounds.ts'
import { longStreamsToBreak, slowStreamsToBreak } from './loads/broken-stream.ts'
import { budgetChats } from './loads/budget-chat.ts'
import { cutChat, streamedChat, wholeChat } from './loads/chats.ts'
import { keyedCalls } from './loads/keyed-call.ts'
import { solanaTopUps } from './loads/solana-top-up.ts'
import { stakingChats } from './loads/staking-chat.ts'
import { topUps } from './loads/top-up.ts'
import { queueVideos, retrieveVideos } from './loads/video.ts'
import { walletChat } from './loads/wallet-chat.ts'
import type { Load, Round } from './round.ts'

/** What callers do, each of it so often side by side. */
export type Mix = readonly (readonly [name: string, load: Load, atOnce: number])[]

/** All of it: the slow ones more often, so that each kill finds some of every kind under way. */
export const everything: Mix = [
  ['chat', wholeChat, 2],
  ['stream', streamedChat, 4],
  ['cut', cutChat, 2],
  ['slow', slowStreamsToBreak, 24],
  ['long', longStreamsToBreak, 4],
  ['wallet', walletChat, 2],
  ['keyed', keyedCalls, 3],
  ['budget', budgetChats, 2],
  ['staking', stakingChats, 3],
  ['top-up', topUps, 3],
  ['solana', solanaTopUps, 2],
  ['queue', queueVideos, 1],
  ['retrieve', retrieveVideos, 1],
]

const pollMs = 5

/** Starts the load; `ended` resolves with what went wrong, once the round is over. */
export function startLoad(
  mix: Mix,
  round: Round,
  baseUrls: readonly string[] = [round.baseUrl],
): { ended: Promise<string[]> } {
  // Each load keeps to one of the services, because a sign-in names the one that it is for.
  const at = (index: number) => ({ ...round, baseUrl: baseUrls[index % baseUrls.length] ?? round.baseUrl })
  const running = mix.flatMap(([name, load, atOnce]) =>
    Array.from({ length: atOnce }, (_, index) => load(at(index), round.seeded(`${name} ${index}`))),
  )
  const ended = Promise.allSettled(running).then(all =>
    all.flatMap(each => (each.status === 'rejected' ? [`A load broke: ${String(each.reason)}`] : [])),
  )
  return { ended }
}

/** Resolves when so much was acknowledged, and so many streams have gone on for so long, that a kill may come. */
export async function untilBusy({ book }: Round): Promise<void> {
  const wanted = book.total + operationsBetweenKills
  const deadlineMs = Date.now() + loadMs
  while (book.total < wanted || oldStreams(book) < streamsBeforeKill) {
    if (Date.now() > deadlineMs) {
      book.surprises.push(
        `Within ${loadMs} ms there were ${oldStreams(book)} long streams (${streamsBeforeKill} expected), and operations were acknowledged: ${book.total - wanted + operationsBetweenKills} (${operationsBetweenKills} expected).`,
      )
      return
    }
    await sleep(pollMs)
  }
}

const oldStreams = ({ reading }: Round['book']): number =>
  [...reading].filter(({ sinceMs }) => Date.now() - sinceMs >= streamReadMs).length
