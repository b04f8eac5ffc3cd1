import type { Seeded } from '../seeded.ts'
import type { Change } from './recording.ts'
import { drawSurvival, type SurvivalKind, type Survives, sectorBytes, sizeSector } from './survival.ts'

export type FileChange = { what: 'written'; offset: number; bytes: Buffer } | { what: 'cut'; size: number }

/** One file as a disk has it: what a sync has made durable, and the changes since, which a loss of power may undo. */
export class DiskFile {
  #durable: Buffer = Buffer.alloc(0)
  #size = 0
  #unsynced: FileChange[] = []

  get unsynced(): number {
    return this.#unsynced.length
  }

  change(change: FileChange): void {
    this.#unsynced.push(change)
  }

  sync(): void {
    const content = new Content(this.#durable, this.#size)
    content.take(this.#unsynced, () => true)
    this.#durable = content.bytes
    this.#size = content.size
    this.#unsynced = []
  }

  /** Its bytes where these of the unsynced changes survived. */
  after(survives: Survives): Buffer {
    const content = new Content(Buffer.from(this.#durable.subarray(0, this.#size)), this.#size)
    content.take(this.#unsynced, survives)
    return content.bytes.subarray(0, content.size)
  }
}

const growth = 2

class Content {
  bytes: Buffer
  size: number

  constructor(bytes: Buffer, size: number) {
    this.bytes = bytes
    this.size = size
  }

  take(changes: readonly FileChange[], survives: Survives): void {
    for (const [index, change] of changes.entries()) {
      if (change.what === 'written') this.#write(change.offset, change.bytes, sector => survives(index, sector))
      else if (survives(index, sizeSector)) this.#cut(change.size)
    }
  }

  #cut(size: number): void {
    this.#reserve(size)
    // What a longer file is given again later reads as zeros.
    if (size < this.size) this.bytes.fill(0, size, this.size)
    this.size = size
  }

  #write(offset: number, bytes: Buffer, survives: (sector: number) => boolean): void {
    const end = offset + bytes.length
    for (let at = offset; at < end; ) {
      const sector = Math.floor(at / sectorBytes)
      const sectorEnd = Math.min(end, (sector + 1) * sectorBytes)
      if (survives(sector)) this.#put(at, bytes.subarray(at - offset, sectorEnd - offset))
      at = sectorEnd
    }
  }

  #put(offset: number, bytes: Buffer): void {
    this.#reserve(offset + bytes.length)
    bytes.copy(this.bytes, offset)
    this.size = Math.max(this.size, offset + bytes.length)
  }

  #reserve(size: number): void {
    if (size <= this.bytes.length) return
    const larger = Buffer.alloc(Math.max(size, this.bytes.length * growth))
    this.bytes.copy(larger)
    this.bytes = larger
  }
}

type NameChange = Extract<Change, { what: 'made' | 'deleted' | 'renamed' | 'linked' }>

/** A folder as a disk has it. Names become durable when the folder is synced, in their order; contents when their file is. */
export class Disk {
  readonly #files = new Map<number, DiskFile>()
  #durableNames = new Map<string, number>()
  #unsyncedNames: NameChange[] = []

  take(change: Change): void {
    switch (change.what) {
      case 'made':
        this.#files.set(change.file, new DiskFile())
        this.#unsyncedNames.push(change)
        return
      case 'deleted':
      case 'renamed':
      case 'linked':
        this.#unsyncedNames.push(change)
        return
      case 'folder synced':
        this.#durableNames = namesAfter(this.#durableNames, this.#unsyncedNames)
        this.#unsyncedNames = []
        return
      case 'synced':
        this.#file(change.file).sync()
        return
      default:
        this.#file(change.file).change(change)
    }
  }

  /** Changes that a loss of power could undo now, of files whose names start so. */
  unsyncedOf(start: string): number {
    const followed = [...namesAfter(this.#durableNames, this.#unsyncedNames)].filter(([name]) => name.startsWith(start))
    return followed.reduce((sum, [, number]) => sum + this.#file(number).unsynced, 0)
  }

  /** The files as every process sees them until the power loss. */
  now(): Map<string, Buffer> {
    return this.#image(this.#unsyncedNames.length, () => () => true)
  }

  /** The files that one loss of power leaves. */
  afterPowerLoss(kind: SurvivalKind, seeded: Seeded): Map<string, Buffer> {
    const draw = (changes: number) => drawSurvival(kind, changes, seeded)
    const names = this.#unsyncedNames.length
    const kept = { none: 0, all: names }[kind as string] ?? seeded.below(names + 1)
    return this.#image(kept, draw)
  }

  #image(keptNames: number, survival: (changes: number) => Survives): Map<string, Buffer> {
    const names = namesAfter(this.#durableNames, this.#unsyncedNames.slice(0, keptNames))
    return new Map(
      [...names].map(([name, number]) => {
        const file = this.#file(number)
        return [name, file.after(survival(file.unsynced))]
      }),
    )
  }

  #file(number: number): DiskFile {
    const file = this.#files.get(number)
    if (!file) throw new Error(`The recording changes file ${number}, which was never made.`)
    return file
  }
}

function namesAfter(names: ReadonlyMap<string, number>, changes: readonly NameChange[]): Map<string, number> {
  const after = new Map(names)
  for (const change of changes) {
    if (change.what === 'made') after.set(change.name, change.file)
    else if (change.what === 'deleted') after.delete(change.name)
    else {
      const file = after.get(change.from)
      if (change.what === 'renamed') after.delete(change.from)
      if (file !== undefined) after.set(change.to, file)
    }
  }
  return after
}
