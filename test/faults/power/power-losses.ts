import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { powerUnits } from '../bounds.ts'
import { type Seeded, seeded } from '../seeded.ts'
import { acknowledgedName, databaseName, readAcknowledged } from './acknowledged.ts'
import { checkImage } from './check-image.ts'
import { Disk } from './disk.ts'
import { recordStories } from './record-stories.ts'
import type { Change } from './recording.ts'
import { type SurvivalKind, survivalKinds } from './survival.ts'

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
