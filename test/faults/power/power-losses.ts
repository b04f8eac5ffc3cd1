import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { powerUnits } from '../bounds.ts'
import { type Seeded, seeded } from '../seeded.ts'
import { type Acknowledged, acknowledgedName, balancesText, databaseName, readAcknowledged } from './acknowledged.ts'
import { buildShim } from './build-shim.ts'
import { Disk } from './disk.ts'
import { type Change, readRecording } from './recording.ts'
import { type SurvivalKind, survivalKinds } from './survival.ts'

const child = join(import.meta.dirname, 'stories-child.ts')

/** Runs the real store under a load of so many units, and answers every change that it made to its files. */
export async function recordStories(folder: string, seed: number, units: number): Promise<Change[]> {
  const store = join(folder, 'store')
  const log = join(folder, 'recording')
  await mkdir(store, { mode: 0o700 })
  const running = spawn(process.execPath, [child, store, `${seed}`, `${units}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, LD_PRELOAD: buildShim(folder), FAREBOX_SHIM_FOLDER: store, FAREBOX_SHIM_LOG: log },
  })
  const [code] = (await once(running, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`The store's load ended with ${code}.`)
  const changes = readRecording(await readFile(log))
  await requireWhole(changes, store)
  return changes
}

/** A write that the recording missed would make every image wrong, so the files are built from it and compared. */
async function requireWhole(changes: readonly Change[], folder: string): Promise<void> {
  const disk = new Disk()
  for (const change of changes) disk.take(change)
  const built = disk.now()
  for (const name of await readdir(folder)) {
    if (name.endsWith('-shm')) continue
    const bytes = await readFile(join(folder, name))
    if (!built.get(name)?.equals(bytes)) throw new Error(`The recording does not explain what is in ${name}.`)
  }
  if (!built.has(acknowledgedName)) throw new Error('The recording tells nothing of what was acknowledged.')
}

/** What is wrong with a store that a loss of power left, a sentence each; none where all is well. */
export async function checkImage(folder: string, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const path = join(folder, databaseName)
  try {
    return [...(await checkAcknowledged(path, acknowledged)), ...(await checkLedger(path)), ...checkWhole(path)]
  } catch (error) {
    return [`The store cannot be used any more: ${error instanceof Error ? error.message : error}`]
  }
}

/** The real store opens it, knows every acknowledged unit with the balances that were told, and goes on. */
async function checkAcknowledged(path: string, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const store = await openSqliteStore({ path })
  try {
    const wrong: string[] = []
    // Units that would be refused, were they new: only what was committed before answers again.
    const outcomes = await store.commit(acknowledged.map(({ id }) => ({ id, ops: [{ op: 'release', hold: 'none' }] })))
    for (const [index, { id, balances }] of acknowledged.entries()) {
      const outcome = outcomes[index]
      if (!outcome?.ok) wrong.push(`Unit ${id} was acknowledged, and it is not there.`)
      else if (balancesText(outcome.balances) !== balances) {
        wrong.push(`Unit ${id} told ${balances}, and now ${balancesText(outcome.balances)}.`)
      }
    }
    const id = `${uuidV7(Date.now())}/next`
    const [next] = await store.commit([{ id, ops: [{ op: 'nonce', key: id, expiresAtMs: Date.now() }] }])
    if (!next?.ok) wrong.push(`The store takes nothing more: ${next?.why}.`)
    return wrong
  } finally {
    await store.close()
  }
}

async function checkLedger(path: string): Promise<string[]> {
  const { findings } = await audit(path)
  return findings.map(({ sentence }) => `The audit finds: ${sentence}`)
}

/** By the name of a unit, the stories that show its effect. A unit and its effect are there together or not at all. */
const effects: Record<string, string> = {
  hold: `SELECT id FROM hold UNION SELECT id FROM ended_hold
    EXCEPT SELECT request FROM job`,
  capture: `SELECT id FROM ended_hold WHERE how = 'captured' EXCEPT SELECT request FROM job`,
  release: `SELECT id FROM ended_hold WHERE how = 'released'`,
  accept: `SELECT request FROM job`,
  complete: `SELECT request FROM job WHERE state = 'completed'`,
  fail: `SELECT request FROM entry WHERE kind = 'REFUND'`,
  claim: `SELECT id FROM payment`,
  credit: `SELECT id FROM payment WHERE state = 'credited'`,
  nonce: `SELECT id FROM nonce WHERE id NOT LIKE '%/next'`,
}

function checkWhole(path: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const ids = (sql: string) =>
      new Set(
        database
          .prepare(sql)
          .all()
          .map(row => String(Object.values(row)[0])),
      )
    return Object.entries(effects).flatMap(([name, sql]) => {
      const committed = ids(`SELECT substr(id, 1, instr(id, '/') - 1) FROM unit WHERE id LIKE '%/${name}'`)
      const shown = ids(sql)
      const half = [...committed].filter(id => !shown.has(id)).concat([...shown].filter(id => !committed.has(id)))
      return half.map(id => `Of unit ${id}/${name} there is a half: ${committed.has(id) ? 'the unit' : 'its effect'}.`)
    })
  } finally {
    database.close()
  }
}

export interface PowerOptions {
  images: number
  seed: number
  folder: string
  /** Acknowledged units of the recorded load. */
  units?: number
  /** Takes no sync for one, as `synchronous = OFF` or a disk that lies would have it: then much must be missing. */
  withoutSyncs?: boolean
  onImage?: (images: number) => void
}

export interface PowerReport {
  images: number
  changes: number
  syncs: number
  acknowledged: number
  byKind: Record<SurvivalKind, number>
  /** Images at whose moment a loss of power could undo something. */
  withUnsynced: number
  /** One for each image that is not sound. */
  failures: string[]
}

/** The moment of one loss of power: after so many changes. */
interface Moment {
  after: number
  kind: SurvivalKind
  index: number
}

/** Records the store once, then builds the folder that each of many losses of power leaves, and opens it. */
export async function runPowerLosses(options: PowerOptions): Promise<PowerReport> {
  const { images, seed, folder, units = powerUnits, withoutSyncs = false, onImage } = options
  await mkdir(folder, { recursive: true })
  const changes = (await recordStories(folder, seed, units)).filter(
    ({ what }) => !withoutSyncs || (what !== 'synced' && what !== 'folder synced'),
  )
  const moments = drawMoments(changes, images, seeded(seed, 'moments'))
  const report = emptyReport(changes)
  const disk = new Disk()
  let taken = 0
  for (const moment of moments) {
    for (; taken < moment.after; taken++) disk.take(changes[taken] as Change)
    await checkMoment(disk, moment, options, report)
    report.images++
    onImage?.(report.images)
  }
  return report
}

const emptyReport = (changes: readonly Change[]): PowerReport => ({
  images: 0,
  changes: changes.length,
  syncs: changes.filter(({ what }) => what === 'synced').length,
  acknowledged: 0,
  byKind: Object.fromEntries(survivalKinds.map(kind => [kind, 0])) as Record<SurvivalKind, number>,
  withUnsynced: 0,
  failures: [],
})

/** What became of the changes that were not synced. */
const lost: Record<SurvivalKind, string> = {
  none: 'nothing unsynced left',
  all: 'everything unsynced left',
  prefix: 'the first of the unsynced left',
  subset: 'some of the unsynced left',
  torn: 'the last write torn',
  sectors: 'each sector at a moment of its own',
}

/** In their order; a half of them where the database itself is written, or right after an acknowledgement. */
function drawMoments(changes: readonly Change[], images: number, draws: Seeded): Moment[] {
  const numberOf = (name: string) => changes.find(change => change.what === 'made' && change.name === name)
  const special = [databaseName, acknowledgedName].map(name => {
    const made = numberOf(name)
    const file = made?.what === 'made' ? made.file : 0
    return changes.flatMap((change, index) => (change.what === 'written' && change.file === file ? [index + 1] : []))
  })
  return Array.from({ length: images }, (_, index) => {
    const places = special[index % 4]
    const after = (places && draws.pick(places)) ?? 1 + draws.below(changes.length)
    return { after, kind: survivalKinds[index % survivalKinds.length] ?? 'none', index }
  }).sort((one, other) => one.after - other.after)
}

async function checkMoment(disk: Disk, moment: Moment, options: PowerOptions, report: PowerReport): Promise<void> {
  const { kind, after, index } = moment
  const acknowledged = readAcknowledged((disk.now().get(acknowledgedName) ?? '').toString())
  const image = join(options.folder, `image-${index}`)
  await writeImage(image, disk.afterPowerLoss(kind, seeded(options.seed, `image ${index}`)))
  const wrong = await checkImage(image, acknowledged)
  report.byKind[kind]++
  if (disk.unsyncedOf(databaseName) > 0) report.withUnsynced++
  report.acknowledged = Math.max(report.acknowledged, acknowledged.length)
  if (!wrong.length) return rm(image, { recursive: true })
  const more = wrong.length > 1 ? ` And ${wrong.length - 1} more.` : ''
  report.failures.push(`Power lost after change ${after}, ${lost[kind]}: ${wrong[0]}${more} The files: ${image}`)
}

async function writeImage(folder: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  await mkdir(folder, { mode: 0o700 })
  for (const [name, bytes] of files) {
    if (name !== acknowledgedName) await writeFile(join(folder, name), bytes, { mode: 0o600 })
  }
}
