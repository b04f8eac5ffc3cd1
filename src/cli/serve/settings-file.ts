import { chmod, chown, copyFile, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { lowered } from '#contract/errors/as-clause.ts'
import { minuteMs } from '#contract/time.ts'
import { oneAtATime } from '#host/async.ts'
import { renameFile, syncFile, syncFolder } from '#host/files.ts'
import type { SettingsFile, SettingsOrder } from '#operator/console/settings-file.ts'
import { OperatorRefused, refuse } from '#operator/operator-refused.ts'
import type { SettingsView } from '#pages/console/wire.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { changedLines } from '../assistants/changed-lines.ts'
import { checkedWhole, configFacts, faultsOf, readWhole, versionOf } from './config.ts'

type Environment = Readonly<Record<string, string | undefined>>

interface ServedBy {
  /** Path of the configuration, as the operator gave it. */
  path: string
  env: Environment
  /** The configuration with which the service was started. */
  started: ConfigFile
  /** The version that was loaded last. */
  loaded(): string
  /**
   * Loads the file again, in every process of this service. Throws if this process refuses it; returns what is wrong at
   * another one, or null.
   */
  reload(): Promise<string | null>
}

/** Lines around a change: enough to see which model it belongs to. */
const contextLines = 3

/** Settings that a reload applies; all others are read once, at startup. */
const reloaded: ReadonlySet<string> = new Set(['models', 'systemPrompt', 'plan', 'limits'])

/** Returns the names of changed settings that take effect only at the next start. */
export const settingsThatWait = (inForce: ConfigFile, next: ConfigFile): string[] =>
  Object.keys({ ...inForce, ...next }).filter(
    name => !reloaded.has(name) && asText(inForce[name as keyof ConfigFile]) !== asText(next[name as keyof ConfigFile]),
  )

const asText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, inside) => (typeof inside === 'bigint' ? `${inside}` : inside))

/** The file of a running service, for its console. One change is made at a time, and one is drafted. */
export function settingsFileOf(served: ServedBy): SettingsFile {
  const inTurn = oneAtATime()
  const draftInTurn = oneAtATime()
  return {
    check: () => check(served),
    draft: order => draftInTurn(async () => (await drafted(served, order)).diff),
    change: (order, note) => inTurn(() => change(served, order, note)),
  }
}

async function check({ path, env, started, loaded }: ServedBy): Promise<SettingsView> {
  const text = await readFile(path, 'utf8')
  try {
    const { file } = await checkedWhole(text, env)
    const { editableOf } = await import('./settings-edit.ts')
    const version = versionOf(text)
    return {
      ...{ faults: [], facts: configFacts(file), waitForRestart: settingsThatWait(started, file) },
      edits: { version, isLoaded: version === loaded(), ...editableOf(text) },
    }
  } catch (error) {
    const faults = faultsOf(error)
    if (!faults) throw error
    return { faults: [...faults], facts: null, waitForRestart: [], edits: null }
  }
}

interface Draft {
  before: string
  after: string
  diff: string[]
}

async function drafted({ path, env }: ServedBy, { version, changes }: SettingsOrder): Promise<Draft> {
  const before = await unchanged(path, version)
  const { ChangeRefused, shownText, withChanges } = await import('./settings-edit.ts')
  try {
    const after = await withChanges(before, changes)
    if (after === before) throw refuse('The settings already have these values.')
    await checkedWhole(after, env)
    return { before, after, diff: changedLines(shownText(before), shownText(after), contextLines) }
  } catch (error) {
    if (error instanceof ChangeRefused) throw refuse(error.message)
    const faults = faultsOf(error)
    if (!faults) throw error
    const sentences = faults.map(({ line, field, sentence }) => `line ${line}${field ? `, ${field}` : ''}: ${sentence}`)
    throw refuse(`The file would be invalid: ${sentences.join(' ')}`)
  }
}

async function unchanged(path: string, version: string): Promise<string> {
  const text = await readWhole(path)
  if (versionOf(text) === version) return text
  throw refuse('The file has changed since this page read it. Reload the page to see it, then make the change again.')
}

async function change(
  served: ServedBy,
  order: SettingsOrder,
  note: Parameters<SettingsFile['change']>[1],
): Promise<{ said: string }> {
  const { after, diff } = await drafted(served, order)
  let isNoted = false
  const sure = async () => {
    await unchanged(served.path, order.version)
    await note(diff)
    isNoted = true
  }
  try {
    await replaceFile(served.path, after, sure)
  } catch (error) {
    if (isNoted) await note(diff, 'The file could not be replaced.')
    throw error
  }
  try {
    const problem = await served.reload()
    if (problem !== null) return { said: `The file was written, and this process uses it. ${problem}` }
  } catch (error) {
    const why = faultsOf(error)?.[0]?.sentence ?? (error instanceof Error ? error.message : String(error))
    return { said: `The file was written, but the service still uses its former settings: ${lowered(why)}` }
  }
  return { said: 'The file was written, and the service uses it. The previous version is beside it, ending in .bak.' }
}

/** A new file that is older was left by a process that died. */
const leftAfterMs = 10 * minuteMs

/**
 * Replaces the file atomically, keeping its mode and owner and a copy of the previous version. The new file has one
 * name, so that only one process replaces the file at a time. `sure` runs last: when it throws, nothing was changed.
 * Throws `OperatorRefused` if this process may not write there.
 */
async function replaceFile(path: string, text: string, sure: () => Promise<void>): Promise<void> {
  // Some operators keep the file in a repository and link to it.
  const target = await realpath(path)
  const fresh = `${target}.new`
  await orRefuse(() => createFile(fresh, text))
  try {
    await orRefuse(() => exchange(target, fresh, sure))
  } catch (error) {
    // Once it has its place, a file of that name is another process's.
    await rm(fresh, { force: true })
    throw error
  }
}

async function createFile(fresh: string, text: string): Promise<void> {
  const left = await stat(fresh).catch(() => null)
  if (left && Date.now() - left.mtimeMs > leftAfterMs) await rm(fresh, { force: true })
  try {
    await writeFile(fresh, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      await rm(fresh, { force: true })
      throw error
    }
    throw refuse('The file is being changed by another process of this service. Reload the page in a moment.')
  }
}

async function exchange(target: string, fresh: string, sure: () => Promise<void>): Promise<void> {
  await keepRights(target, fresh)
  await syncFile(fresh)
  await copyFile(target, `${target}.bak`)
  await keepRights(target, `${target}.bak`)
  await sure()
  await renameFile(fresh, target)
  await syncFolder(dirname(target))
}

async function orRefuse(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof OperatorRefused || code === undefined || !writeFailures.has(code)) throw error
    throw refuse(
      `The service cannot replace its configuration (${code}). Give its user write permission for the file and its folder, or edit the file by hand and send SIGHUP.`,
    )
  }
}

const writeFailures: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'ENOSPC', 'EDQUOT', 'EXDEV'])

async function keepRights(from: string, to: string): Promise<void> {
  const { mode, uid, gid } = await stat(from)
  await chmod(to, mode & 0o777)
  if (process.getuid?.() === 0) await chown(to, uid, gid)
}
