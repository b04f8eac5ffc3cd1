import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/safe-json.ts'
import { maxNoteBytes } from '../limits.ts'
import { readPrivateFile, replacePrivateFile, writeNewPrivateFile } from '../private-file.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import type { Records } from './records.ts'
import { stateFileName } from './state.ts'
import { first, type Work } from './work.ts'

/** Which journal counts what a key pays. `folder` is null for one in a database. */
const Note = z.strictObject({ address: z.string(), journal: z.string(), folder: z.string().nullable() })
type Note = z.output<typeof Note>

/** Notes of this user on this machine, one a key: `$XDG_STATE_HOME/farebox/journals`, or below `~/.local/state`. */
export function defaultNotesFolder(): string {
  const { XDG_STATE_HOME: home } = process.env
  return join(home && isAbsolute(home) ? home : join(homedir(), '.local', 'state'), 'farebox', 'journals')
}

/**
 * Refuses a second journal for one key on this machine, because each would count its caps from nothing. The first is noted
 * before anything is signed. A folder that was moved takes its note along; one that was removed leaves it to the next.
 */
export async function claimJournal(notesFolder: string, address: string, records: Records): Promise<void> {
  const note = await noteOf(address, records)
  const name = nameOf(address)
  const known = readNote(notesFolder, name)
  if (known === null && noting(notesFolder, () => writeNewPrivateFile(notesFolder, name, textOf(note)))) return
  const held = known ?? readNote(notesFolder, name)
  if (!held || isSame(held, note)) return
  if (isStillThere(held, note)) throw otherJournal(held, note)
  noting(notesFolder, () => replacePrivateFile(notesFolder, name, textOf(note)))
}

/** By a person's word: from now on these records count for the key, and what others counted is no longer known here. */
export async function moveJournal(notesFolder: string, address: string, records: Records): Promise<void> {
  const note = await noteOf(address, records)
  noting(notesFolder, () => replacePrivateFile(notesFolder, nameOf(address), textOf(note)))
}

async function noteOf(address: string, records: Records): Promise<Note> {
  const journal = await records.read(journalId)
  return { address, journal, folder: records.folder === null ? null : realpathSync(records.folder) }
}

function* journalId(): Work<string> {
  const row = yield* first('SELECT id FROM journal')
  return String(row?.id)
}

/** A copy of a folder has the same id in another place, and would count for itself. */
const isSame = (held: Note, note: Note): boolean => held.journal === note.journal && held.folder === note.folder

/** A database may be away at the moment; a folder is there or not, and may hold a new journal where the old one was removed. */
const isStillThere = ({ folder }: Note, present: Note): boolean =>
  folder === null || (folder !== present.folder && existsSync(join(folder, stateFileName)))

/** EVM addresses are one in whatever case they are written; others are not, and a file system may not tell cases apart. */
const nameOf = (address: string): string =>
  address.startsWith('0x') ? `${address.toLowerCase()}.json` : `${Buffer.from(address).toString('hex')}.json`

const textOf = (note: Note): string => `${JSON.stringify(note, null, 2)}\n`

function readNote(folder: string, name: string): Note | null {
  const text = noting(folder, () => readPrivateFile(join(folder, name), maxNoteBytes, false))
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const note = Note.safeParse(json.ok ? json.value : undefined)
  if (note.success) return note.data
  throw refusal(`${join(folder, name)} cannot be read as a note of which journal counts for a key.`, moveAdvice)
}

function noting<Result>(folder: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof WalletRefusal) throw error
    const { code = 'no code' } = error as NodeJS.ErrnoException
    throw refusal(
      `Which journal counts for the wallet's key cannot be noted in ${folder} (${code}), and nothing is signed before it is.`,
      'Let the folder be written to, or name another with XDG_STATE_HOME.',
    )
  }
}

const moveAdvice =
  'A person at a terminal can run `farebox wallet move`, which makes the present one count from now on.'

const otherJournal = (held: Note, note: Note): WalletRefusal =>
  refusal(
    `On this machine what the key ${note.address} pays is counted in ${placeOf(held)}, and not in ${placeOf(note)}; two would double its caps.`,
    `Use that one. ${moveAdvice}`,
  )

const placeOf = ({ folder }: Note): string => (folder === null ? 'another PostgreSQL journal' : `the folder ${folder}`)

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'other-journal', sentence, nextStep })

/** Claims a journal for a wallet's keys, once in a process. */
export function claimOnce(notesFolder: string, keys: readonly { address: string }[], records: Records) {
  let claimed: Promise<void> | undefined
  const claim = async () => {
    for (const { address } of keys) await claimJournal(notesFolder, address, records)
  }
  return (): Promise<void> => {
    claimed ??= claim().catch(error => {
      claimed = undefined
      throw error
    })
    return claimed
  }
}
