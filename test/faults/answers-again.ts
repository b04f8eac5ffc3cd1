import { setTimeout as sleep } from 'node:timers/promises'
import { answeredAgainMs, answerPollMs } from './bounds.ts'
import { chatOf } from './loads/prompts.ts'
import type { Round } from './round.ts'
import { costOf, requestIdOf, send, textOf } from './send.ts'

/** Whether a paid call with this key is answered before too long. */
export async function answersAgain(round: Round, key: string): Promise<boolean> {
  const endMs = Date.now() + answeredAgainMs
  const body = chatOf(round.seeded('probe'), 10)
  while (Date.now() < endMs) {
    const headers = { authorization: `Bearer ${key}` }
    const response = await send(round, { kind: 'chat', path: '/chat/completions', headers, body })
    const text = response && (await textOf(response))
    if (response?.status === 200 && text !== null) {
      round.book.charge('chat', requestIdOf(response), costOf(JSON.parse(text)))
      return true
    }
    if (response) round.book.open.add(requestIdOf(response))
    await sleep(answerPollMs)
  }
  return false
}
