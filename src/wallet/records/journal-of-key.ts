import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { displayUsd } from '#contract/money.ts'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { keyFileAddress } from '../keys/key-file.ts'
import { maxNoteBytes } from '../limits.ts'
import { readPrivateFile, replacePrivateFile, writeNewPrivateFile } from '../private-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { change, first, type Records, type Work } from './records.ts'
import { stateFileName } from './state.ts'

/** How far a journal has come. Steps are only added, so an older copy has fewer. */
interface JournalMark {
  journal: string
  /** State changes over all payments. */
  steps: number
  /** Payments that have been signed. */
  count: number
  /** The sum that the caps count. */
  totalMicroUsd: bigint
  /** The last signed payment; null before the first. */
  last: string | null
}

export function* journalMark(): Work<JournalMark> {
  const row = yield* first(
    `SELECT (SELECT id FROM journal) AS journal,
       (SELECT count(*) FROM payment_steps) + (SELECT count(*) FROM transfer_steps) AS steps,
       (SELECT count(*) FROM payments WHERE nonce IS NOT NULL) AS signed,
       (SELECT coalesce(sum(amount_micro_usd), 0) FROM payments WHERE counts = 1) AS total,
       (SELECT id FROM payments WHERE nonce IS NOT NULL ORDER BY created_at_ms DESC, rowid DESC LIMIT 1) AS last`,
  )
  return {
    journal: String(row?.journal),
    steps: Number(row?.steps),
    count: Number(row?.signed),
    totalMicroUsd: BigInt(Number(row?.total)),
    last: typeof row?.last === 'string' ? row.last : null,
  }
}

/**
 * Returns whether a journal lacks payments that were recorded for it: a restored copy does, and so does a new journal
 * that replaced a deleted one. Its caps would start too low.
 */
function* isBehind(noted: JournalMark): Work<boolean> {
  const present = yield* journalMark()
  if (present.journal !== noted.journal) return noted.count > 0
  if (present.steps < noted.steps || present.count < noted.count) return true
  return noted.last !== null && (yield* first('SELECT id FROM payments WHERE id = ?', noted.last)) === undefined
}

/**
 * Which journal counts a key's payments, and how far it was before the last payment was sent. `folder` is null for a
 * journal in a database.
 */
const Note = z.strictObject({
  address: z.string(),
  journal: z.string(),
  folder: z.string().nullable(),
  steps: z.int().nonnegative(),
  count: z.int().nonnegative(),
  totalMicroUsd: z
    .string()
    .regex(/^\d{1,20}$/)
    .transform(BigInt),
  last: z.string().nullable(),
})
type Note = JournalMark & { address: string; folder: string | null }

/**
 * Returns the folder of this user's notes on this machine, one per key: `$XDG_STATE_HOME/farebox/journals`, or below
 * `~/.local/state`.
 */
export function defaultNotesFolder(): string {
  const { XDG_STATE_HOME: home } = process.env
  return join(home && isAbsolute(home) ? home : join(homedir(), '.local', 'state'), 'farebox', 'journals')
}

/**
 * Records how far a key's journal is. Refuses a second journal for one key on this machine, because each would count
 * its caps from zero, and refuses a journal that lacks recorded payments. The note is written after a signed payment's
 * row and before its bytes are sent, so that after a crash it is never ahead of its journal. If a folder was moved, its
 * note is updated.
 */
export async function noteJournal(notesFolder: string, address: string, records: Records): Promise<void> {
  const note = await noteOf(address, records)
  const name = nameOf(address)
  const known = readNote(notesFolder, name)
  if (known === null && noting(notesFolder, () => writeNewPrivateFile(notesFolder, name, textOf(note)))) return
  const held = known ?? readNote(notesFolder, name)
  if (!held) return
  if (!isSame(held, note) && isStillThere(held, note)) throw otherJournal(held, note)
  if (await records.read(() => isBehind(held))) throw behind(held, note)
  // Another process may have recorded more since this one checked.
  if (isSame(held, note) && held.steps >= note.steps) return
  noting(notesFolder, () => replacePrivateFile(notesFolder, name, textOf(note)))
}

/**
 * At the user's request: from now on these records count for the key, and the note about any other journal is replaced.
 */
export async function moveJournal(notesFolder: string, address: string, records: Records): Promise<void> {
  const note = await noteOf(address, records)
  noting(notesFolder, () => replacePrivateFile(notesFolder, nameOf(address), textOf(note)))
}

/**
 * Returns what was recorded for a key and what these records contain, so that the user can choose; null if they agree.
 */
export async function comparedWithNote(
  notesFolder: string,
  address: string,
  records: Records,
): Promise<{ noted: string; present: string } | null> {
  const note = await noteOf(address, records)
  const held = readNote(notesFolder, nameOf(address))
  if (!held || (isSame(held, note) && !(await records.read(() => isBehind(held))))) return null
  return { noted: `${placeOf(held)}: ${figuresOf(held)}`, present: `${placeOf(note)}: ${figuresOf(note)}` }
}

async function noteOf(address: string, records: Records): Promise<Note> {
  const mark = await records.read(journalMark)
  return { address, folder: records.folder === null ? null : realpathSync(records.folder), ...mark }
}

/** A copy of a folder has the same id in another place, and would count separately. */
const isSame = (held: Note, note: Note): boolean => held.journal === note.journal && held.folder === note.folder

/**
 * A database may be temporarily unreachable. A folder exists or does not, and may contain a new journal in place of a
 * deleted one.
 */
const isStillThere = ({ folder }: Note, present: Note): boolean =>
  folder === null || (folder !== present.folder && existsSync(join(folder, stateFileName)))

/** EVM addresses are equal in any case; others are not, and a file system may ignore case. */
const nameOf = (address: string): string =>
  address.startsWith('0x') ? `${address.toLowerCase()}.json` : `${Buffer.from(address).toString('hex')}.json`

const textOf = ({ address, journal, folder, steps, count, totalMicroUsd, last }: Note): string => {
  const note = { address, journal, folder, steps, count, totalMicroUsd: totalMicroUsd.toString(), last }
  return `${JSON.stringify(note, null, 2)}\n`
}

function readNote(folder: string, name: string): Note | null {
  const text = noting(folder, () => readPrivateFile(join(folder, name), maxNoteBytes, false))
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const note = Note.safeParse(json.ok ? json.value : undefined)
  if (note.success) return note.data
  throw refusal('other-journal', `${join(folder, name)} is not a valid record of the journal for a key.`, moveAdvice)
}

function noting<Result>(folder: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof WalletRefusal) throw error
    const { code = 'no code' } = error as NodeJS.ErrnoException
    throw refusal(
      'other-journal',
      `The record of the journal for the wallet's key cannot be written to ${folder} (${code}), and nothing is paid without it.`,
      'Make the folder writable, or choose another with XDG_STATE_HOME.',
    )
  }
}

const moveAdvice = 'To use this journal instead, the user can run `farebox wallet move` in a terminal.'

const otherJournal = (held: Note, note: Note): WalletRefusal =>
  refusal(
    'other-journal',
    `The journal of the key ${note.address} on this machine is ${placeOf(held)}, not ${placeOf(note)}; two journals would double its caps.`,
    `Use that journal. ${moveAdvice}`,
  )

const behind = (held: Note, note: Note): WalletRefusal =>
  refusal(
    'journal-behind',
    `The journal in ${placeOf(note)} lacks payments of the key ${note.address}: it has ${figuresOf(note)}, and this machine has recorded ${figuresOf(held)}. An old copy was restored, or the journal was removed. Its caps would allow too much, so nothing was signed.`,
    `Put the newest copy back. ${moveAdvice}`,
  )

const figuresOf = ({ count, totalMicroUsd }: JournalMark): string =>
  `${count} signed payment${count === 1 ? '' : 's'} (${displayUsd(totalMicroUsd)} counted against the caps)`

const placeOf = ({ folder }: Note): string => (folder === null ? 'a PostgreSQL journal' : `the folder ${folder}`)

const refusal = (rule: 'other-journal' | 'journal-behind', sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule, sentence, nextStep })

/**
 * Returns the wallet, by its address, whose passphrase is needed for the user's decisions on this journal; null before
 * a wallet has used it.
 */
function* journalOwner(): Work<string | null> {
  const row = yield* first('SELECT address FROM journal_owner')
  return row ? String(row.address) : null
}

/** The first one stays. */
export function* ownJournal(address: string, nowMs: number): Work<void> {
  if ((yield* journalOwner()) !== null) return
  yield* change(
    'INSERT INTO journal_owner (one, address, since_ms) VALUES (1, ?, ?) ON CONFLICT DO NOTHING',
    address,
    nowMs,
  )
}

/**
 * Records on which a data folder's encrypted wallet decides. The wallet's address is recorded with the first decision,
 * before any request for approval can exist, so the journal needs that passphrase even from another folder.
 */
export function ownedRecords(records: Records, folder: string): Records {
  let isOwned = false
  return {
    ...records,
    async decide(work) {
      const address = isOwned ? null : addressIn(folder)
      if (address === null) return records.decide(work)
      const result = await records.decide(function* (nowMs) {
        yield* ownJournal(address, nowMs)
        return yield* work(nowMs)
      })
      isOwned = true
      return result
    },
  }
}

/** An unreadable key file cannot be opened, but must not keep the user from stopping the wallet. */
function addressIn(folder: string): string | null {
  try {
    return keyFileAddress(folder)
  } catch {
    return null
  }
}

/** Refuses if the journal belongs to a wallet that is not among these. */
export function* refuseOther(addresses: readonly string[], folder: string): Work<void> {
  const owner = yield* journalOwner()
  if (owner === null || addresses.includes(owner)) return
  throw new WalletRefusal({
    rule: 'other-owner',
    sentence: `Only the owner of the wallet ${owner} can decide on this journal, and ${folder} does not contain its keys.`,
    nextStep:
      'Run the command with `--data` and the folder of that wallet, and give its passphrase. For a new journal, use another folder or database.',
  })
}
