import { setTimeout as sleep } from 'node:timers/promises'
import { probePatienceMs } from './bounds.ts'
import type { LedgerState, LedgerWatch } from './ledger/ledger-watch.ts'

/** What a probe answers: a status and its body. */
export interface Probe {
  status: number
  body: { status: string; ledger: LedgerState['state'] | 'unknown'; reason?: string }
}

type Books = Pick<LedgerWatch, 'state'>

const noAnswer = { state: 'unknown', reason: 'The database does not answer.' } as const

/** A prober has no patience, and a process that waits for its database is not dead. */
async function stateWithin(books: Books, waitMs: number) {
  const patience = new AbortController()
  const late = sleep(waitMs, noAnswer, { signal: patience.signal }).catch(() => noAnswer)
  try {
    return await Promise.race([books.state().catch(() => noAnswer), late])
  } finally {
    patience.abort()
  }
}

/** Whether the process lives: a restart would mend neither its database nor its books. */
export async function liveness(books: Books, waitMs = probePatienceMs): Promise<Probe> {
  const { state } = await stateWithin(books, waitMs)
  return { status: 200, body: { status: 'ok', ledger: state } }
}

/** Whether new calls should come here. */
export async function readiness(books: Books, waitMs = probePatienceMs): Promise<Probe> {
  const { state, reason } = await stateWithin(books, waitMs)
  if (state === 'open') return { status: 200, body: { status: 'ready', ledger: state } }
  return { status: 503, body: { status: 'not ready', ledger: state, reason } }
}
