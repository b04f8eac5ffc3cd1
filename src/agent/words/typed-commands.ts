import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ApprovalRequest, ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { homeDataFolder } from '#wallet/private-file.ts'

/** The wallet that a sentence's commands are about. */
export interface WalletPlace {
  folder: string
  /** The journal is in a database, whose address is secret and is never shown. */
  isJournalShared: boolean
}

/** Commands that find a wallet by its folder. */
const ofWallets = /^(?:wallet|mcp|proxy|call|install|doctor --assistant)\b/

/**
 * Replaces each command in a sentence of ours with what the user must type here: `farebox wallet status` becomes the
 * command that starts this installation, for this wallet. Only for our own sentences, because in untrusted text it
 * would make a command work.
 */
export function asTyped(sentence: string, { folder, isJournalShared }: WalletPlace = usualPlace()): string {
  const commands = [...sentence.matchAll(commandIn)].map(([, words = '']) => words)
  if (commands.length === 0) return sentence
  const typed = sentence.replaceAll(commandIn, (_, words: string) => `\`${typedCommand(words, folder)}\``)
  const needsJournal = isJournalShared && commands.some(words => words.startsWith('wallet'))
  return needsJournal ? `${typed} That terminal needs this wallet’s FAREBOX_JOURNAL_URL.` : typed
}

const commandIn = /`farebox ((?:--)?[a-z][^`]*)`/g

const usualPlace = (): WalletPlace => ({ folder: homeDataFolder(), isJournalShared: false })

/** `words` follow `farebox`; the folder is omitted if it is the default. */
function typedCommand(words: string, folder: string): string {
  const isNamed = folder === homeDataFolder() || !ofWallets.test(words) || words.includes(' --data ')
  return `${ownCommand()} ${words}${isNamed ? '' : ` --data ${quoted(folder)}`}`
}

/** Returns the place of an agent's wallet. */
export const placeOf = (agent: { state: { folder: string }; records: { folder: string | null } }): WalletPlace => ({
  folder: agent.state.folder,
  isJournalShared: agent.records.folder === null,
})

type Running = Pick<NodeJS.Process, 'env' | 'execPath' | 'platform'>

/**
 * Returns what the user types for `farebox` in a terminal: the bare word only if it starts this installation, otherwise
 * Node with this installation's file. A desktop client unpacks a bundle without a command, a clone need not be linked,
 * and npx would run any package with that name.
 */
export function ownCommand(running: Running = process, launcher = ownLauncher()): string {
  if (launcher === null) return 'farebox'
  const found = programIn(running, 'farebox')
  if (isOurs(found, launcher) || isOurs(startedByNpm(found), launcher)) return 'farebox'
  return `${nodeCommand(running, launcher)} ${inShell(launcher, running.platform)}`
}

/** Quotes a word for a shell. */
export function inShell(word: string, platform: NodeJS.Platform = process.platform): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, platform)
}

export const quoted = (word: string, platform: NodeJS.Platform = process.platform): string =>
  platform === 'win32'
    ? // A program takes only backslashes before a quote for escapes.
      `"${word.replaceAll(/\\+(?="|$)/g, '$&$&').replaceAll('"', '\\"')}"`
    : `'${word.replaceAll("'", `'\\''`)}'`

/** Folders between a module and its package's root, in the sources or in the bundle. */
const mostFolders = 5

/** Returns null if this code is part of another program, which has no such file. */
function ownLauncher(): string | null {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let step = 0; step < mostFolders; step++, folder = dirname(folder)) {
    const launcher = join(folder, 'bin', 'farebox.mjs')
    if (existsSync(launcher)) return launcher
  }
  return null
}

/** A terminal does not find a desktop app's Node. A clone uses its own Node, whichever one starts it. */
function nodeCommand({ env, execPath, platform }: Running, launcher: string): string {
  const isElectron = process.versions.electron !== undefined
  const found = programIn({ env, platform }, 'node')
  const isClone = existsSync(join(dirname(launcher), '..', 'src', 'cli', 'main.ts'))
  const isUsable = found !== null && (isClone || platform === 'win32' || isOurs(found, execPath))
  return isElectron || isUsable ? 'node' : inShell(execPath, platform)
}

/** npm and npx add these to the PATH of the one program that they start; the user's terminal does not have them. */
const ofNpmAlone = /[\\/](node_modules[\\/]\.bin|_npx[\\/].*|node-gyp-bin)[\\/]?$/

/** Returns the first executable of that name on a terminal's PATH; null if there is none. */
function programIn({ env, platform }: Omit<Running, 'execPath'>, name: string): string | null {
  const names = platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter(folder => folder && !ofNpmAlone.test(folder))
  const paths = folders.flatMap(folder => names.map(each => join(folder, each)))
  return paths.find(path => existsSync(path)) ?? null
}

/** Where Windows has no links, npm writes a script beside its folder of packages. */
const startedByNpm = (script: string | null): string | null =>
  script?.endsWith('.cmd') ? join(dirname(script), 'node_modules', 'farebox', 'bin', 'farebox.mjs') : null

function isOurs(path: string | null, ours: string): boolean {
  try {
    return path !== null && realpathSync(path) === realpathSync(ours)
  } catch {
    return false
  }
}

/** Returns an error or request with its commands as typed here. Anything else is returned unchanged. */
export function typedWords(said: unknown, place: WalletPlace): unknown {
  if (said instanceof ToolFailure) {
    const { happened, next } = said.facts
    return new ToolFailure({ ...said.facts, happened: asTyped(happened, place), next: asTyped(next, place) })
  }
  return said instanceof ApprovalRequired ? new ApprovalRequired(typedRequest(said.request, place)) : said
}

export const typedRequest = (request: ApprovalRequest, place: WalletPlace): ApprovalRequest => ({
  ...request,
  howToApprove: asTyped(request.howToApprove, place),
  ifDenied: asTyped(request.ifDenied, place),
})
