import { renameSync, writeFileSync } from 'node:fs'
import { inDecisionMs } from './bounds.ts'
import { pointsInDecisions } from './points.ts'
import type { Told } from './work-order.ts'

type Standing = 'moves' | 'waits' | 'halted' | 'ended'

const inDecisions: readonly string[] = pointsInDecisions

/**
 * Who of a wave may go on: a process that halts does so until nobody else moves, because all others wait for their turn,
 * halt too or have ended; then whoever has halted longest goes on. So what two processes do at once is no accident.
 */
export class Gates<Process extends object> {
  readonly #standings = new Map<Process, Standing>()
  readonly #halted: { process: Process; gate: string }[] = []
  readonly #skewMs: () => number
  #leader: { process: Process; rests: () => void } | null = null

  constructor(skewMs: () => number) {
    this.#skewMs = skewMs
  }

  /** These start now; until then they block no other process. */
  start(processes: readonly Process[]): void {
    for (const process of processes) this.#standings.set(process, 'moves')
  }

  /** Starts one before all others; resolves once it halts, waits or has ended. It does not go on before `letGo`. */
  lead(process: Process): Promise<void> {
    this.start([process])
    return new Promise(resolve => {
      this.#leader = { process, rests: resolve }
    })
  }

  isHalted(process: Process): boolean {
    return this.#standings.get(process) === 'halted'
  }

  letGo(): void {
    this.#leader = null
    this.#look()
  }

  told(process: Process, told: Told): void {
    if (told.kind === 'halted') this.#halts(process, told)
    if (told.kind === 'waits') this.#stands(process, 'waits')
    if (told.kind === 'waited' || told.kind === 'action') this.#stands(process, 'moves')
  }

  ended(process: Process): void {
    this.#stands(process, 'ended')
  }

  #halts(process: Process, { point, gate }: Extract<Told, { kind: 'halted' }>): void {
    this.#halted.push({ process, gate })
    this.#stands(process, 'halted')
    if (inDecisions.includes(point)) setTimeout(() => this.#open(gate), inDecisionMs)
  }

  #stands(process: Process, standing: Standing): void {
    this.#standings.set(process, standing)
    if (process === this.#leader?.process && standing !== 'moves') this.#leader.rests()
    else this.#look()
  }

  #look(): void {
    if (this.#leader || [...this.#standings.values()].includes('moves')) return
    const [first] = this.#halted
    if (first) this.#open(first.gate)
  }

  #open(gate: string): void {
    const place = this.#halted.findIndex(each => each.gate === gate)
    const [halted] = place < 0 ? [] : this.#halted.splice(place, 1)
    if (!halted) return
    if (this.#standings.get(halted.process) === 'ended') {
      this.#look()
      return
    }
    this.#standings.set(halted.process, 'moves')
    // Never seen before it is whole.
    writeFileSync(`${gate}.new`, `${this.#skewMs()}`)
    renameSync(`${gate}.new`, gate)
  }
}
