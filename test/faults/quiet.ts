import { setTimeout as sleep } from 'node:timers/promises'
import type { Books } from './books.ts'
import { quietMs, quietPollMs } from './bounds.ts'
import type { LedgerRows } from './checks/ledger-rows.ts'

const isAtRest = ({ holds, payments, jobs }: LedgerRows): boolean =>
  holds.length === 0 &&
  [...payments.values()].every(({ state }) => ['credited', 'rejected', 'expired'].includes(state)) &&
  [...jobs.values()].every(({ state }) => !['queued', 'running'].includes(state))

/** Waits until nothing is held, on its way or queued, and answers after how long; the checks tell what was left. */
export async function untilQuiet(books: Books): Promise<number> {
  const startedMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - startedMs)
  while (!isAtRest(await books.read()) && waitedMs() < quietMs) await sleep(quietPollMs)
  return waitedMs()
}
