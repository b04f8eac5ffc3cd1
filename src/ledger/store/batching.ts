import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import { batchCharacters, batchUnits, gatherFromUnits, gatherMs } from '../bounds.ts'
import type { Tables } from './tables.ts'
import type { Unit } from './units.ts'

/**
 * Keys per statement: a group is padded to one of these sizes, so that a database has few different statements to keep.
 */
const groupSizes = [1, 2, 4, 16, 64] as const

/** How many statements of one read are in flight: two, so that a hanging connection does not block everything. */
const groupsInFlight = 2

interface Waiting<Row> {
  keys: readonly string[]
  resolve(row: Row | undefined): void
  reject(error: unknown): void
}

/**
 * Returns a read of one row by any of its keys. Every request makes such reads, so those until `setImmediate` share one
 * statement, like commits, because a statement costs far more than a row. Each statement is built and compiled once per
 * database. `build` receives placeholders for the keys, and `keyOf` returns a row's key.
 */
export function groupedRead<Row>(
  build: (read: Kysely<Tables>, keys: readonly string[]) => Compilable<Row>,
  keyOf: (row: Row) => string,
): (read: Kysely<Tables>, ...keys: readonly string[]) => Promise<Row | undefined> {
  const groups = new WeakMap<Kysely<Tables>, Groups<Row>>()
  return (read, ...keys) => {
    const known = groups.get(read) ?? new Groups(read, build, keyOf)
    groups.set(read, known)
    return known.rowOf(keys)
  }
}

class Groups<Row> {
  readonly #read: Kysely<Tables>
  readonly #build: (read: Kysely<Tables>, keys: readonly string[]) => Compilable<Row>
  readonly #keyOf: (row: Row) => string
  readonly #compiled = new Map<number, CompiledQuery<Row>>()
  readonly #waiting: Waiting<Row>[] = []
  #inFlight = 0
  #scheduled = false

  constructor(
    read: Kysely<Tables>,
    build: (read: Kysely<Tables>, keys: readonly string[]) => Compilable<Row>,
    keyOf: (row: Row) => string,
  ) {
    this.#read = read
    this.#build = build
    this.#keyOf = keyOf
  }

  rowOf(keys: readonly string[]): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0 || this.#inFlight >= groupsInFlight) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#readNext()
      this.#schedule()
    })
  }

  async #readNext(): Promise<void> {
    this.#inFlight++
    const group = this.#nextGroup()
    try {
      const rows = await this.#rowsOf([...new Set(group.flatMap(({ keys }) => keys))])
      for (const { keys, resolve } of group) resolve(rows.find(row => keys.includes(this.#keyOf(row))))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    this.#inFlight--
    this.#schedule()
  }

  /** At least one waiting call, then all whose keys fit. */
  #nextGroup(): Waiting<Row>[] {
    const most = groupSizes.at(-1) ?? 1
    let keys = 0
    const end = this.#waiting.findIndex((waiting, index) => {
      keys += waiting.keys.length
      return index > 0 && keys > most
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #rowsOf(keys: readonly string[]): Promise<Row[]> {
    const size = groupSizes.find(each => each >= keys.length) ?? keys.length
    const filled = [...keys, ...new Array<string>(size - keys.length).fill(keys[0] ?? '')]
    const compiled = this.#compiled.get(size) ?? this.#build(this.#read, filled).compile()
    this.#compiled.set(size, compiled)
    return (await this.#read.executeQuery<Row>({ ...compiled, parameters: filled })).rows
  }
}

/** Returns how many of these units, from the first on, go into one commit: limited by number and by length of text. */
export function nextBatch(waiting: readonly { unit: Unit }[]): number {
  let characters = 0
  const end = waiting.findIndex(({ unit }, index) => {
    characters += charactersOf(unit)
    return index >= batchUnits || (index > 0 && characters > batchCharacters)
  })
  return end === -1 ? waiting.length : end
}

/** Only these carry texts that are longer than a name may be. */
function charactersOf({ ops }: Unit): number {
  let characters = 0
  // Units are not validated yet, and an invalid one must not stop the queue.
  if (!Array.isArray(ops)) return characters
  for (const op of ops) {
    if (op?.op !== 'job' && op?.op !== 'payment' && op?.op !== 'claim') continue
    for (const value of Object.values(op.set ?? {})) if (typeof value === 'string') characters += value.length
  }
  return characters
}

/** The wait is for a disk, so it uses real time even if the process has a fake clock. */
const realSetTimeout = setTimeout

/**
 * Decides when the next batch is sent: at the next `setImmediate`, or after a large batch, once as many units have
 * gathered again or `gatherMs` have passed. The callers of a large batch return within a moment, and a unit in a larger
 * batch costs less; after a small batch, a timer would only delay them.
 */
export class Gathering {
  readonly #send: () => void
  readonly #startTimer: (run: () => void, ms: number) => NodeJS.Timeout
  #lastUnits = 0
  #timer: NodeJS.Timeout | null = null
  #isDue = false

  constructor(send: () => void, startTimer: (run: () => void, ms: number) => NodeJS.Timeout = realSetTimeout) {
    this.#send = send
    this.#startTimer = startTimer
  }

  /** Called when a batch is sent. */
  sent(units: number): void {
    this.#lastUnits = units
  }

  /** This many units wait. `isUrgent` if other work must run, or no more units will come. */
  wait(units: number, isUrgent: boolean): void {
    if (this.#isDue) return
    if (isUrgent || this.#lastUnits < gatherFromUnits || units >= this.#lastUnits) this.#sendSoon()
    else this.#timer ??= this.#startTimer(() => this.#sendSoon(), gatherMs)
  }

  #sendSoon(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.#send()
    })
  }
}
