import type { BreakerStore } from '#client/breaker.ts'
import { breakerWindowMs } from '#client/limits.ts'
import type { State } from '#wallet/state.ts'
import { agentMigrations } from './migrations.ts'

/** Failures counted for all processes of the machine, because the service counts them for all as well. */
export function sharedBreakerStore(state: State): BreakerStore {
  const database = () => {
    state.prepare('agent', agentMigrations)
    return state.database()
  }
  return {
    add(key, { atMs, wasAnswered }) {
      const db = database()
      db.prepare('DELETE FROM failures WHERE at_ms <= ?').run(atMs - breakerWindowMs)
      db.prepare('INSERT INTO failures (caller, at_ms, was_answered) VALUES (?, ?, ?)').run(
        key,
        Math.trunc(atMs),
        wasAnswered ? 1 : 0,
      )
    },
    since: (key, atMs) =>
      database()
        .prepare('SELECT at_ms, was_answered FROM failures WHERE caller = ? AND at_ms > ? ORDER BY at_ms')
        .all(key, Math.trunc(atMs))
        .map(row => ({ atMs: Number(row.at_ms), wasAnswered: row.was_answered === 1 })),
    blockUntil: (key, untilMs) =>
      void database()
        .prepare('INSERT OR REPLACE INTO blocks (caller, until_ms) VALUES (?, ?)')
        .run(key, Math.trunc(untilMs)),
    blockedUntilMs: key =>
      Number(database().prepare('SELECT until_ms FROM blocks WHERE caller = ?').get(key)?.until_ms ?? 0),
  }
}
