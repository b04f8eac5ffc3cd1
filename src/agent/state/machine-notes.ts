import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Notes, SharedNotes } from '#client/pace/shared-notes.ts'
import type { Clock } from '#contract/time.ts'
import { mayRun, thisOwner } from '#wallet/ids.ts'
import { busyTimeoutMs } from '#wallet/limits.ts'
import { type State, stateFileName } from '#wallet/records/state.ts'
import { notesKeptMs } from '../bounds.ts'
import { agentMigrations } from './schema.ts'

interface Opened {
  database: DatabaseSync
  notes: Notes
}

/**
 * Shares what this machine's processes know about a service's limits through the state file, because the service counts
 * them together too. Uses a separate connection: each call records its start and end, which need no sync to disk, while
 * the wallet's records on the other connection do.
 */
export function machineNotes(state: State, clock: Clock): SharedNotes {
  let opened: Opened | undefined
  let isClosed = false
  return {
    owner: { name: thisOwner(), mayRun },
    together(use) {
      // A late answer must not create the file again.
      if (isClosed) throw new Error('This agent is closed. Create another one.')
      opened ??= open(state, clock)
      const { database, notes } = opened
      database.exec('BEGIN IMMEDIATE')
      try {
        const result = use(notes)
        database.exec('COMMIT')
        return result
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    close() {
      isClosed = true
      opened?.database.close()
      opened = undefined
    },
  }
}

function open(state: State, clock: Clock): Opened {
  // Creates the file and its tables, or throws why that is impossible.
  state.prepare('agent', agentMigrations)
  const database = new DatabaseSync(join(state.folder, stateFileName), { timeout: busyTimeoutMs })
  database.exec('PRAGMA synchronous = NORMAL')
  database.prepare('DELETE FROM notes WHERE changed_at_ms < ?').run(clock.now() - notesKeptMs)
  return { database, notes: notesOf(database, clock) }
}

function notesOf(database: DatabaseSync, clock: Clock): Notes {
  const statement = once(database)
  return {
    read: key => noteOf(statement('SELECT note FROM notes WHERE key = ?').get(key)),
    write: (key, note) =>
      void statement('INSERT OR REPLACE INTO notes (key, note, changed_at_ms) VALUES (?, ?, ?)').run(
        key,
        note,
        Math.trunc(clock.now()),
      ),
    list: start =>
      statement('SELECT key, note FROM notes WHERE substr(key, 1, length(?)) = ?')
        .all(start, start)
        .map(row => [String(row.key), String(row.note)] as const),
  }
}

const noteOf = (row: Record<string, unknown> | undefined): string | null => (row ? String(row.note) : null)

/** Caches prepared statements by their text. */
function once(database: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>()
  return sql => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
}
