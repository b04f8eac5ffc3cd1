/** The options of one run of the harness. */
export interface RunOrder {
  /** How much: kills, images, seeds. */
  count: number
  seed: number
  /** Of each seed of a simulation; as many as usual where it is not said. */
  steps?: number | null
  store: StoreName
  /** Removed by the caller where all is well. */
  folder: string
  /** Progress, for a user who watches. */
  say(line: string): void
  /** Called where the run is stopped from outside, so that no process of it stays behind. */
  onStop(end: () => Promise<void>): void
}

export const storeNames = ['sqlite', 'postgres'] as const
export type StoreName = (typeof storeNames)[number]

/** What came of it: a line each, the last one is the verdict. */
export interface RunEnd {
  isWell: boolean
  lines: readonly string[]
}

export type FaultRun = (order: RunOrder) => Promise<RunEnd>

/** A flag of the command, and what it starts. */
export interface FaultCommand {
  /** Takes how much as its number: `--kills 200`. */
  flag: string
  what: string
  /** Where no flag is given, or one without a number that makes sense. */
  usual: number
  most: number
  stores: readonly StoreName[]
  load(): Promise<FaultRun>
}
