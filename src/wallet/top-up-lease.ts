import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '#contract/clock.ts'
import { leaseMs, leasePollMs, leaseWaitMs } from './limits.ts'
import { newId } from './new-id.ts'
import { isRunning, thisProcess } from './process-name.ts'
import { WalletRefusal } from './refusal.ts'
import type { State } from './state.ts'

/** Whose turn it is to top up: one on the machine, in this process or another. */
export interface TopUpLease {
  /** Whether another one had to be waited for: then the balance is not what its caller last saw. */
  hasWaited: boolean
  /** Throws where the lease was lost, for instance to a laptop's sleep; checked in the transaction of every step. */
  check(database: DatabaseSync): void
}

export type Pause = (ms: number) => Promise<void>

/** Runs `work` while holding the lease; it ends with the work, with the process, or unrenewed after `leaseMs`. */
export async function withTopUpLease<Result>(
  state: State,
  clock: Clock,
  pause: Pause,
  work: (lease: TopUpLease) => Promise<Result>,
): Promise<Result> {
  const token = newId('turn')
  const hasWaited = await take(state, clock, pause, token)
  const renewal = setInterval(() => renew(state, clock, token), leaseMs / 3)
  // The lease dies with its process; it must not keep it alive.
  renewal.unref()
  const check = (db: DatabaseSync) => {
    if (ownerToken(db) !== token) throw lost()
  }
  try {
    return await work({ hasWaited, check })
  } finally {
    clearInterval(renewal)
    giveUp(state, token)
  }
}

/** A turn that cannot be given back ends by itself; that must not hide what became of the payment. */
function giveUp(state: State, token: string): void {
  try {
    state.decide(db => db.prepare('DELETE FROM top_up_lease WHERE token = ?').run(token))
  } catch {
    // Its time runs out.
  }
}

async function take(state: State, clock: Clock, pause: Pause, token: string): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += leasePollMs) {
    if (state.decide(db => tryTake(db, token, clock.now()))) return waitedMs > 0
    if (waitedMs >= leaseWaitMs) throw stillRunning()
    await pause(leasePollMs)
  }
}

function tryTake(db: DatabaseSync, token: string, nowMs: number): boolean {
  const held = db.prepare('SELECT owner, expires_at_ms FROM top_up_lease').get()
  if (held && Number(held.expires_at_ms) > nowMs && isRunning(String(held.owner))) return false
  db.prepare('INSERT OR REPLACE INTO top_up_lease (only, token, owner, expires_at_ms) VALUES (1, ?, ?, ?)').run(
    token,
    thisProcess(),
    nowMs + leaseMs,
  )
  return true
}

function renew(state: State, clock: Clock, token: string): void {
  try {
    state.decide(db =>
      db.prepare('UPDATE top_up_lease SET expires_at_ms = ? WHERE token = ?').run(clock.now() + leaseMs, token),
    )
  } catch {
    // A lease that could not be renewed runs out; the next step's check sees it.
  }
}

const ownerToken = (db: DatabaseSync): unknown => db.prepare('SELECT token FROM top_up_lease').get()?.token

const stillRunning = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'top-up-running',
    sentence: 'Another top-up of this wallet is still running.',
    nextStep: 'Look at `farebox wallet receipts` in a minute; nothing was signed here.',
  })

const lost = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'lease-lost',
    sentence: 'Another process has taken over the top-up.',
    nextStep: 'Look at the credit before anything else; its receipt is in `farebox wallet receipts`.',
  })
