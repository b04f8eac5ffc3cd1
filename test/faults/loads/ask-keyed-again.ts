import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyedCall } from '../book.ts'
import { keyedAgainMs, keyedTries } from '../bounds.ts'
import type { Round } from '../round.ts'
import { askKeyed } from './keyed-call.ts'

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
