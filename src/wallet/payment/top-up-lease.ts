import { mayRun, newId, thisOwner } from '../ids.ts'
import { leaseMs, leasePollMs, leaseWaitMs } from '../limits.ts'
import { change, first, type Records, type Work } from '../records/records.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** The right to top up, which one process on these records holds at a time. */
export interface TopUpLease {
  /** When it was first requested, by the clock of the records. */
  askedAtMs: number
  /** Whether another process held it first: then the balance may differ from what the caller last saw. */
  hasWaited: boolean
  /** Throws if the lease was lost, for example because a laptop slept; part of the decision of every step. */
  check(): Work<void>
}

export type Pause = (ms: number) => Promise<void>

/**
 * Runs `work` while holding the lease, which ends with the work, with the process, or after `leaseMs` without renewal.
 */
export async function withTopUpLease<Result>(
  records: Records,
  pause: Pause,
  work: (lease: TopUpLease) => Promise<Result>,
): Promise<Result> {
  const token = newId('turn')
  const taken = await take(records, pause, token)
  // A lease that could not be renewed expires; the next step's check notices.
  const renewal = setInterval(() => records.decide(nowMs => renew(token, nowMs)).catch(() => {}), leaseMs / 3)
  // The lease ends with its process, and must not keep it alive.
  renewal.unref()
  function* check(): Work<void> {
    if ((yield* first('SELECT token FROM top_up_lease'))?.token !== token) throw lost()
  }
  try {
    return await work({ ...taken, check })
  } finally {
    clearInterval(renewal)
    // A lease that cannot be released expires anyway; the failure must not hide the payment's outcome.
    await records.decide(() => change('DELETE FROM top_up_lease WHERE token = ?', token)).catch(() => {})
  }
}

async function take(
  records: Records,
  pause: Pause,
  token: string,
): Promise<Pick<TopUpLease, 'askedAtMs' | 'hasWaited'>> {
  let askedAtMs: number | undefined
  for (let waitedMs = 0; ; waitedMs += leasePollMs) {
    const { isTaken, atMs } = await records.decide(nowMs => tryTake(token, nowMs))
    askedAtMs ??= atMs
    if (isTaken) return { askedAtMs, hasWaited: waitedMs > 0 }
    if (waitedMs >= leaseWaitMs) throw stillRunning()
    await pause(leasePollMs)
  }
}

function* tryTake(token: string, nowMs: number): Work<{ isTaken: boolean; atMs: number }> {
  const held = yield* first('SELECT owner, expires_at_ms FROM top_up_lease')
  if (held && Number(held.expires_at_ms) > nowMs && mayRun(String(held.owner))) return { isTaken: false, atMs: nowMs }
  yield* change(
    `INSERT INTO top_up_lease ("only", token, owner, expires_at_ms) VALUES (1, ?, ?, ?)
     ON CONFLICT ("only") DO UPDATE
     SET token = excluded.token, owner = excluded.owner, expires_at_ms = excluded.expires_at_ms`,
    ...[token, thisOwner(), nowMs + leaseMs],
  )
  return { isTaken: true, atMs: nowMs }
}

function* renew(token: string, nowMs: number): Work<void> {
  yield* change('UPDATE top_up_lease SET expires_at_ms = ? WHERE token = ?', nowMs + leaseMs, token)
}

const stillRunning = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'top-up-running',
    sentence: 'Another top-up of this wallet is still running.',
    nextStep: 'Check `farebox wallet receipts` in a minute; nothing was signed here.',
  })

const lost = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'lease-lost',
    sentence: 'Another process has taken over the top-up.',
    nextStep: 'Check the credit first; the receipt is in `farebox wallet receipts`.',
  })
