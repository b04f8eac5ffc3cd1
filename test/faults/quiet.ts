import { setTimeout as sleep } from 'node:timers/promises'
import { quietMs, quietPollMs } from './bounds.ts'
import type { LedgerRows } from './checks/ledger-rows.ts'
import type { TestLedger } from './test-ledgers.ts'

const isAtRest = ({ holds, payments, jobs }: LedgerRows): boolean =>
  holds.length === 0 &&
  [...payments.values()].every(({ state }) => ['credited', 'rejected', 'expired'].includes(state)) &&
  [...jobs.values()].every(({ state }) => !['queued', 'running'].includes(state))

/** Waits until nothing is on hold, in flight or queued, and returns how long that took; the checks report what was left. */
export async function untilQuiet(ledger: TestLedger): Promise<number> {
  const startedMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - startedMs)
  while (!isAtRest(await ledger.read()) && waitedMs() < quietMs) await sleep(quietPollMs)
  return waitedMs()
}
