import type { Seeded } from '../seeded.ts'
import { DiskFile } from './disk-file.ts'
import type { Change } from './recording.ts'
import { drawSurvival, type SurvivalKind, type Survives } from './survival.ts'

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

  /** The files as they are for everybody while the power lasts. */
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
