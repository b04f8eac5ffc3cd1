import type { SignedTopUp } from '../book.ts'
import type { Round } from '../round.ts'
import { pay } from './top-up.ts'

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
