import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NeedsPerson, type Question } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { defaultStateFolder } from '#wallet/private-file.ts'

/** Whose wallet the commands of a sentence are about. */
export interface WalletPlace {
  folder: string
  /** The journal is in a database, whose address is a secret and stands in no sentence. */
  isJournalShared: boolean
}

/** Commands that find a wallet by its folder. */
const ofWallets = /^(?:wallet|mcp|proxy|call)\b/

/**
 * A sentence of ours with each command as the user has to type it here: `farebox wallet status` becomes what starts this
 * installation, on this very wallet. Only for our own sentences, because in a stranger's it would make a command work.
 */
export function asTyped(sentence: string, { folder, isJournalShared }: WalletPlace = usualPlace()): string {
  const commands = [...sentence.matchAll(commandIn)].map(([, words = '']) => words)
  if (commands.length === 0) return sentence
  const typed = sentence.replaceAll(commandIn, (_, words: string) => `\`${typedCommand(words, folder)}\``)
  const needsJournal = isJournalShared && commands.some(words => words.startsWith('wallet'))
  return needsJournal ? `${typed} That terminal needs this wallet’s FAREBOX_JOURNAL_URL.` : typed
}

const commandIn = /`farebox ((?:--)?[a-z][^`]*)`/g

const usualPlace = (): WalletPlace => ({ folder: defaultStateFolder(), isJournalShared: false })

/** `words` are those behind `farebox`; without a folder of its own where the wallet lies in the usual one. */
function typedCommand(words: string, folder: string): string {
  const isNamed = folder === defaultStateFolder() || !ofWallets.test(words) || words.includes(' --data ')
  return `${ownCommand()} ${words}${isNamed ? '' : ` --data ${quoted(folder)}`}`
}

/** The place of an agent's wallet. */
export const placeOf = (agent: { state: { folder: string }; records: { folder: string | null } }): WalletPlace => ({
  folder: agent.state.folder,
  isJournalShared: agent.records.folder === null,
})

type Running = Pick<NodeJS.Process, 'env' | 'execPath' | 'platform'>

/**
 * What the user types for `farebox` in a terminal: the bare word only where it leads to this very installation, else Node
 * with this installation's own file. An installing client unpacks a bundle without a command, a clone need not be linked,
 * and npx would run whatever has that name elsewhere.
 */
export function ownCommand(running: Running = process, launcher = ownLauncher()): string {
  if (launcher === null || isOurs(programIn(running, 'farebox'), launcher)) return 'farebox'
  return `${nodeCommand(running, launcher)} ${inShell(launcher, running.platform)}`
}

/** A word as a shell takes it whole. */
export function inShell(word: string, platform: NodeJS.Platform = process.platform): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, platform)
}

export const quoted = (word: string, platform: NodeJS.Platform = process.platform): string =>
  platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`

/** Folders between a module and the package's own one, in the sources or in the bundle. */
const mostFolders = 5

/** Null where this code was put into a program of another's, which has no such file. */
function ownLauncher(): string | null {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let step = 0; step < mostFolders; step++, folder = dirname(folder)) {
    const launcher = join(folder, 'bin', 'farebox.mjs')
    if (existsSync(launcher)) return launcher
  }
  return null
}

/** A desktop program's own Node is none that a terminal finds; a clone hands over to the Node that it brings, whichever starts it. */
function nodeCommand({ env, execPath, platform }: Running, launcher: string): string {
  const isElectron = process.versions.electron !== undefined
  const found = programIn({ env, platform }, 'node')
  const isClone = existsSync(join(dirname(launcher), '..', 'src', 'cli', 'main.ts'))
  const isUsable = found !== null && (isClone || platform === 'win32' || isOurs(found, execPath))
  return isElectron || isUsable ? 'node' : inShell(execPath, platform)
}

/** Npm and npx put these before a PATH for the one program that they start; the user's terminal has none of them. */
const ofNpmAlone = /[\\/](node_modules[\\/]\.bin|_npx[\\/].*|node-gyp-bin)[\\/]?$/

/** The first program of that name in the PATH of a terminal; null where there is none. */
function programIn({ env, platform }: Omit<Running, 'execPath'>, name: string): string | null {
  const names = platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter(folder => folder && !ofNpmAlone.test(folder))
  const paths = folders.flatMap(folder => names.map(each => join(folder, each)))
  return paths.find(path => existsSync(path)) ?? null
}

function isOurs(path: string | null, ours: string): boolean {
  try {
    return path !== null && realpathSync(path) === realpathSync(ours)
  } catch {
    return false
  }
}

/** What went wrong, or waits for the user, with its commands as they are typed here. Anything else stays what it is. */
export function typedWords(said: unknown, place: WalletPlace): unknown {
  if (said instanceof ToolFailure) {
    const { happened, next } = said.facts
    return new ToolFailure({ ...said.facts, happened: asTyped(happened, place), next: asTyped(next, place) })
  }
  return said instanceof NeedsPerson ? new NeedsPerson(typedQuestion(said.question, place)) : said
}

export const typedQuestion = (question: Question, place: WalletPlace): Question => ({
  ...question,
  howToApprove: asTyped(question.howToApprove, place),
  onNo: asTyped(question.onNo, place),
})
