import { setTimeout as sleep } from 'node:timers/promises'
import { answeredAgainMs, answerPollMs, keyedAgainMs, keyedTries } from './bounds.ts'
import type { KeyedCall, SignedTopUp } from './load-records.ts'
import { askKeyed } from './loads/keyed-call.ts'
import { chatOf } from './loads/prompts.ts'
import { pay } from './loads/top-up.ts'
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

/** Payments that are sent again side by side. */
const atOnce = 4

/** Every payment once more: what was acknowledged is answered with the same bytes, what was not is so at last. */
export async function sendAgain(round: Round, payments: readonly SignedTopUp[]): Promise<void> {
  const waiting = [...payments]
  const sender = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await pay(round, next)
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
}

/** Every answer under a key once more; at rest the others as well, until they are answered. */
export async function askKeyedAgain(round: Round, untilAnswered: boolean): Promise<void> {
  for (const call of round.book.keyed) {
    if (call.acknowledged) await askKeyed(round, call)
    else if (untilAnswered) await askUntilAnswered(round, call)
  }
}

async function askUntilAnswered(round: Round, call: KeyedCall): Promise<void> {
  for (let tries = 0; tries < keyedTries && !call.acknowledged; tries++) {
    if (tries > 0) await sleep(keyedAgainMs)
    await askKeyed(round, call)
  }
  if (!call.acknowledged) round.book.surprise(call.kind, `was asked for ${keyedTries} times, and never answered`)
}
