import { existsSync, rmSync } from 'node:fs'
import { asTyped, inShell } from '#agent/words/typed-commands.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { CliError, type CommandIo } from '../command.ts'
import { paintFor, type Tone } from '../show/style.ts'
import { askYes } from '../wallet/terminal.ts'
import type { AssistantClient, Entry, StartCommand } from './clients.ts'
import { type ConfigFile, copyOf, keepCopy, readConfig, removeConfig, withoutMark, writeConfig } from './config-file.ts'
import { addEntry, entryIn, removeEntry, shownChange, withoutValues } from './edit-config.ts'
import { ConfigFault } from './edit-json.ts'
import type { Machine } from './machine.ts'
import { isOurs, unpackedByNpx } from './start-command.ts'

/** How to change a client's configuration, and whether to ask the user. */
export interface Change {
  /** Null to remove our entry. */
  entry: Entry | null
  start: StartCommand
  machine: Machine
  withInput: boolean
  isPrint: boolean
  isSure: boolean
  isJson: boolean
  /** Whether a wallet already exists, so that the output need not explain how to create one. */
  hasWallet?: boolean
  /** Ends the prompt, in a command that has taken over Ctrl-C. */
  stopped?: AbortSignal
}

/** What was done to the file; printed as JSON by `install --json`. */
export interface Changed {
  client: string
  file: string
  change: Done
  written: boolean
  /** Where the old file is kept; null if there was none. */
  copy: string | null
}

/** Returns a client's configuration file: the existing one, or the one that it would create. */
export function configOf(client: AssistantClient, machine: Machine): string {
  const files = client.files(machine)
  return files.find(file => existsSync(file)) ?? files[0]
}

/** Whether the file has an entry that starts farebox. Throws if it cannot be read. */
export async function hasOurEntry(client: AssistantClient, path: string): Promise<boolean> {
  const { text } = readConfig(path)
  return text !== null && isOurs(await entryIn(client, withoutMark(text).text))
}

type Done = 'added' | 'updated' | 'removed' | 'unchanged'

/** Shows the change, asks, keeps a copy and writes; prints only without `isJson`. Returns null if the user declines. */
export async function changeConfig(client: AssistantClient, change: Change, io: CommandIo): Promise<Changed | null> {
  const file = readConfig(configOf(client, change.machine))
  const plan = await planned(client, change, file).catch(error => {
    throw inWords(error, file)
  })
  if (!change.isJson) show(plan, file, io)
  const isWritten = plan.done !== 'unchanged' && !change.isPrint
  if (isWritten && !(await mayWrite(change, io))) {
    io.output.note('Nothing was changed.')
    return null
  }
  const copy = isWritten ? write(plan, file) : null
  if (!change.isJson) sayWhatNext(client, change, { done: plan.done, isWritten, copy }, io)
  return { client: client.name, file: file.path, change: plan.done, written: isWritten, copy }
}

/** Throws anything that would prevent a change, for a command that does something else first. */
export async function requireChangeable(client: AssistantClient, machine: Machine): Promise<void> {
  const file = readConfig(configOf(client, machine))
  await ourEntryIn(client, file).catch(error => {
    throw inWords(error, file)
  })
}

interface Plan {
  done: Done
  /** Null if the file should be deleted, because only this command has ever written it. */
  text: string | null
  hadEntry: boolean
  /** The changed lines, without other servers' values. */
  lines: readonly string[]
}

async function planned(client: AssistantClient, change: Change, file: ConfigFile): Promise<Plan> {
  const { mark, text } = withoutMark(file.text ?? '')
  const old = await ourEntryIn(client, file)
  const hadEntry = old !== undefined
  const edit = (before: string) =>
    change.entry === null ? removeEntry(client, before) : addEntry(client, before, change.entry, change)
  const original = change.entry === null && hadEntry ? await originalOf(client, file, text, old as Entry) : undefined
  const after = original === undefined ? await edit(text) : withoutMark(original ?? '').text
  if (after === text) return { done: 'unchanged', text: file.text, hadEntry, lines: [] }
  const done = change.entry === null ? 'removed' : hadEntry ? 'updated' : 'added'
  const lines = await shownChange(client, text, original === undefined ? edit : () => withoutValues(client, after))
  return { done, text: original === null ? null : mark + after, hadEntry, lines }
}

/** Returns our entry; undefined if there is none. Refuses another server that has our name. */
async function ourEntryIn(client: AssistantClient, file: ConfigFile): Promise<unknown> {
  const entry = await entryIn(client, withoutMark(file.text ?? '').text)
  if (entry === undefined || isOurs(entry)) return entry
  const sentence = `${file.path} already has another server named farebox.`
  throw new CliError(sentence, 'Rename or remove it there, then try again. Nothing was changed.')
}

/**
 * Returns the file's content before this command changed it, if nothing else has changed it since: the kept copy, or
 * null if there was no file. Undefined if unknown.
 */
async function originalOf(
  client: AssistantClient,
  file: ConfigFile,
  text: string,
  entry: Entry,
): Promise<string | null | undefined> {
  const copy = copyOf(file, false)
  const kept = existsSync(copy) ? readConfig(copy).text : null
  for (const withInput of client.input ? [false, true] : [false]) {
    const again = await addEntry(client, withoutMark(kept ?? '').text, entry, { withInput }).catch(() => null)
    if (again === text) return kept
  }
  return undefined
}

function inWords(error: unknown, { path }: ConfigFile): unknown {
  if (!(error instanceof ConfigFault)) return error
  const sentence = `${path}, line ${error.line}: ${error.message}.`
  return new CliError(sentence, 'Correct it in an editor, then try again. Nothing was changed.')
}

function show({ done, lines }: Plan, { path, text }: ConfigFile, io: CommandIo): void {
  if (done === 'unchanged') return
  io.output.print(text === null ? `${path} (new)` : path)
  const paint = paintFor(io.output)
  const tones: Readonly<Record<string, Tone>> = { '+': 'good', '-': 'bad' }
  for (const line of lines) io.output.print(`  ${paint(tones[line.charAt(0)] ?? 'faint', line)}`)
}

async function mayWrite({ isSure, stopped }: Change, io: CommandIo): Promise<boolean> {
  if (isSure) return true
  if (io.stdin.isTTY) return askYes(io, 'Write this change?', stopped)
  throw new CliError(
    'This is not a terminal, so nothing was written.',
    'Run it again with `--yes`, or with `--print` to only see the change.',
    2,
  )
}

/** Returns the path of the kept copy. */
function write({ done, text, hadEntry }: Plan, file: ConfigFile): string | null {
  const before = copyOf(file, false)
  const isRestored = done === 'removed' && (text === null || (existsSync(before) && readConfig(before).text === text))
  if (text === null) removeConfig(file)
  const copy = file.text === null || isRestored ? null : keepCopy(file, hadEntry)
  if (text !== null) writeConfig(file, text)
  if (isRestored) rmSync(before, { force: true })
  return copy
}

function sayWhatNext(
  client: AssistantClient,
  { entry, start, isPrint, hasWallet }: Change,
  { done, isWritten, copy }: { done: Done; isWritten: boolean; copy: string | null },
  io: CommandIo,
): void {
  const { output } = io
  if (done === 'unchanged') {
    output.print(
      entry === null ? `${client.title} has no farebox entry to remove.` : `${client.title} already has this entry.`,
    )
    return
  }
  if (copy !== null) output.note(`The old file is kept as ${copy}`)
  if (isWritten) output.print(`${client.title}: farebox ${done}. ${entry === null ? 'Restart it.' : client.afterwards}`)
  if (entry === null) return
  const moment = unpackedByNpx(start)
  if (moment !== null) output.note(moment)
  const hasKey = start.env.FAREBOX_API_KEY !== undefined
  if (isWritten && !hasKey && !hasWallet) output.note(asTyped(sayWallet(start)))
  // These clients cannot fill in a key.
  if (!isPrint || hasKey) return
  if (client.ownCommand)
    output.note(
      `The client's own command: ${client
        .ownCommand(start)
        .map(word => inShell(word))
        .join(' ')}`,
    )
  if (client.link) output.note(`The same as a link: ${client.link(start)}`)
}

/** Returns how to get a wallet, if there is none yet. */
function sayWallet({ args, env: { FAREBOX_BASE_URL: service } }: StartCommand): string {
  const offered = 'Then ask for something that costs money. If there is no wallet, a page on this machine creates one.'
  if (service !== undefined && isLoopback(new URL(service).hostname)) return offered
  const at = args.indexOf('--data')
  const data = at < 0 ? '' : ` --data ${inShell(args[at + 1] ?? '')}`
  return `${offered} To create it in this terminal, run \`farebox wallet create --service ${service ?? 'URL'}${data}\`.`
}
