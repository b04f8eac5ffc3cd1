import { lstat, readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { dropPart } from '#client/download/part-file.ts'
import type { Clock } from '#contract/time.ts'
import type { KeptFile, SavedFile } from '#toolkit/tool-context.ts'
import { isRunning, newId } from '#wallet/ids.ts'
import type { State } from '#wallet/records/state.ts'
import { textOrNull } from '#wallet/records/state-rows.ts'
import { keptSavedFiles, oldPartMs } from '../bounds.ts'
import { AgentTables } from '../state/schema.ts'
import { inFolder } from './files.ts'

/** A file that has just got its name in the output folder. */
export interface NewSavedFile extends SavedFile {
  /** The id of a job if this is its only file; otherwise an id of its own. */
  id?: string
  model: string | null
  tool: string | null
}

/** The records of saved files; the files themselves stay until their owner deletes them. */
export class SavedFiles {
  readonly #tables: AgentTables
  readonly #clock: Clock

  constructor(state: State, clock: Clock) {
    this.#tables = new AgentTables(state)
    this.#clock = clock
  }

  /** Runs inside the transaction that stores their answer. */
  insert(db: DatabaseSync, files: readonly NewSavedFile[]): void {
    for (const file of files) insertSavedFile(db, file, this.#clock.now())
  }

  /** Records a file that no other row depends on. */
  keep(file: NewSavedFile): void {
    this.#tables.decide(db => this.insert(db, [file]))
  }

  /** Newest first. */
  list(limit: number): KeptFile[] {
    return this.#tables.database
      .prepare('SELECT * FROM saved_files ORDER BY saved_at_ms DESC, rowid DESC LIMIT ?')
      .all(limit)
      .map(read)
  }

  find(id: string): KeptFile | null {
    const row = this.#tables.database.prepare('SELECT * FROM saved_files WHERE id = ?').get(id)
    return row ? read(row) : null
  }

  /** Returns the file that was last saved under this path. */
  at(path: string): KeptFile | null {
    const row = this.#tables.database.prepare('SELECT * FROM saved_files WHERE path = ?').get(path)
    return row ? read(row) : null
  }
}

/**
 * A path has one row. A text that is saved again keeps its id; any other file is new, because its name was free. The
 * oldest rows beyond the limit are dropped.
 */
export function insertSavedFile(db: DatabaseSync, file: NewSavedFile, nowMs: number): void {
  const before = db.prepare('SELECT id FROM saved_files WHERE path = ?').get(file.path)
  const isText = !/^(?:image|video|audio)\//.test(file.mimeType)
  const id = file.id ?? (before && isText ? String(before.id) : newId('file'))
  db.prepare('DELETE FROM saved_files WHERE path = ? OR id = ?').run(file.path, id)
  db.prepare(
    'INSERT INTO saved_files (id, path, mime_type, bytes, model, tool, saved_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ).run(id, file.path, file.mimeType, file.bytes, file.model, file.tool, nowMs)
  db.prepare(
    `DELETE FROM saved_files WHERE id IN
       (SELECT id FROM saved_files ORDER BY saved_at_ms DESC, rowid DESC LIMIT -1 OFFSET ?)`,
  ).run(keptSavedFiles)
}

const read = (row: Record<string, SQLOutputValue>): KeptFile => ({
  id: String(row.id),
  path: String(row.path),
  mimeType: String(row.mime_type),
  bytes: Number(row.bytes),
  model: textOrNull(row.model),
  tool: textOrNull(row.tool),
  savedAtMs: Number(row.saved_at_ms),
})

/** Names of our incomplete files: of jobs, of calls, and of texts with the id of the writing process. */
const ownPart =
  /^\.(?<id>(?:job|call)_[\da-hj-km-np-tv-z]{16}|[\da-f]{12}-(?<pid>\d{1,10})-[\da-f-]{36})\.part(?:\.json)?$/

/**
 * Removes incomplete files of processes that died: parts that have our names, were not written to for a day, and belong
 * to no running process. Never throws, because leftovers do no harm.
 */
export async function sweepParts(folder: string, state: State, nowMs: number): Promise<void> {
  try {
    const found = new Map<string, string | undefined>()
    for (const name of await readdir(folder)) {
      const { id, pid } = ownPart.exec(name)?.groups ?? {}
      if (id !== undefined) found.set(id, pid)
    }
    for (const [id, pid] of found) {
      const part = inFolder(folder, `.${id}.part`)
      if ((await isOld(part, nowMs)) && !isAtWork(state, id, pid)) await dropPart(part)
    }
  } catch {
    // If the folder cannot be listed or the records cannot be read, the next process tries again.
  }
}

/** A note is written only once, so the later of the two times counts. */
async function isOld(part: string, nowMs: number): Promise<boolean> {
  const both = await Promise.all([part, `${part}.json`].map(path => lstat(path).catch(() => null)))
  return both.every(one => one === null || (one.isFile() && one.mtimeMs < nowMs - oldPartMs))
}

function isAtWork(state: State, id: string, pid: string | undefined): boolean {
  if (pid !== undefined) return isRunning(`${pid}@${hostname()}#text`)
  const query = owners[id.split('_')[0] ?? '']
  if (query === undefined) return false
  const owner = new AgentTables(state).database.prepare(query).get(id)?.owner
  return typeof owner === 'string' && isRunning(owner)
}

const owners: Readonly<Record<string, string>> = {
  job: 'SELECT saver AS owner FROM jobs WHERE id = ?',
  call: `SELECT owner FROM paid_calls WHERE id = ? AND state = 'sent'`,
}
