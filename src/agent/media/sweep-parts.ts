import { lstat, readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dropPart } from '#client/download/part-file.ts'
import { isRunning } from '#wallet/ids.ts'
import type { State } from '#wallet/records/state.ts'
import { oldPartMs } from '../bounds.ts'
import { agentMigrations } from '../state/migrations.ts'
import { inFolder } from './file-name.ts'

/** Names that only our own parts have, and their notes: of jobs, of calls, and of texts with the process that writes one. */
const ownPart =
  /^\.(?<id>(?:job|call)_[\da-hj-km-np-tv-z]{16}|[\da-f]{12}-(?:(?<pid>\d{1,10})-)?[\da-f-]{36})\.part(?:\.json)?$/

/**
 * Removes what processes that died left half written: parts that are ours by their names, that nobody has written to for a
 * day, and that no running process has. Never throws, because what lies there harms nobody.
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
    // The folder cannot be listed, or the records not be read: it is looked at again by the next process.
  }
}

/** A note is written once, so that the later of the two times counts. */
async function isOld(part: string, nowMs: number): Promise<boolean> {
  const both = await Promise.all([part, `${part}.json`].map(path => lstat(path).catch(() => null)))
  return both.every(one => one === null || (one.isFile() && one.mtimeMs < nowMs - oldPartMs))
}

function isAtWork(state: State, id: string, pid: string | undefined): boolean {
  if (pid !== undefined) return isRunning(`${pid}@${hostname()}#text`)
  const query = owners[id.split('_')[0] ?? '']
  if (query === undefined) return false
  state.prepare('agent', agentMigrations)
  const owner = state.database().prepare(query).get(id)?.owner
  return typeof owner === 'string' && isRunning(owner)
}

const owners: Readonly<Record<string, string>> = {
  job: 'SELECT saver AS owner FROM jobs WHERE id = ?',
  call: `SELECT owner FROM paid_calls WHERE id = ? AND state = 'sent'`,
}
