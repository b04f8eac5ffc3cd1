import type { EngineState, JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import type { Seeded } from '../seeded.ts'
import type { Sometimes } from './sometimes.ts'
import { answered, type Machine } from './virtual-machine.ts'

/** The possible outcomes of a video; the first is the correct one. */
const fates = ['is made', 'fails', 'is refused for its content', 'gets no verdict'] as const

export interface Render {
  fate: (typeof fates)[number]
  /** By the true time. */
  doneAtMs: number
}

/** The engine's own memory; it outlives the processes that ask it. */
export class RenderFarm {
  readonly #draws: Seeded
  readonly #nowMs: () => number
  readonly #sometimes: Sometimes
  readonly renders = new Map<string, Render>()
  troubleOnceIn = 0
  /** After faults have stopped, what had no verdict gets one. */
  isHealed = false

  constructor(draws: Seeded, nowMs: () => number, sometimes: Sometimes) {
    this.#draws = draws
    this.#nowMs = nowMs
    this.#sometimes = sometimes
  }

  isTroubled(): boolean {
    return this.troubleOnceIn > 0 && this.#draws.once(this.troubleOnceIn)
  }

  /** The job's id is the key: what is submitted again is found. */
  submit(jobId: string): void {
    if (this.renders.has(jobId)) return
    const fate = this.isTroubled() ? (this.#draws.pick(fates) ?? 'is made') : 'is made'
    if (fate !== 'is made') this.#sometimes.reached(`a video ${fate}`)
    this.renders.set(jobId, { fate, doneAtMs: this.#nowMs() + this.#draws.below(60_000) })
  }

  look(jobId: string, machine: Machine): JobProgress {
    const render = this.renders.get(jobId)
    const isOver = render && this.#nowMs() >= render.doneAtMs
    if (!isOver || (render.fate === 'gets no verdict' && !this.isHealed)) {
      return { state: 'running', engineState: { job: jobId } }
    }
    if (render.fate === 'fails') return { state: 'failed', reason: 'The engine could not make it.' }
    if (render.fate === 'is refused for its content') {
      return { state: 'failed', reason: 'Refused for its content.', contentPolicy: true }
    }
    const path = `/rendered/${jobId}.mp4`
    machine.files.write(path, Buffer.from(`video ${jobId}`))
    return { state: 'completed', path, mimeType: 'video/mp4' }
  }
}

/** The way to the engine from one machine: questions and answers may be lost. */
export class SimulatedVideo implements VideoEngine {
  readonly carries = () => true
  readonly #machine: Machine
  readonly #farm: RenderFarm
  readonly #draws: Seeded

  constructor(machine: Machine, farm: RenderFarm, draws: Seeded) {
    this.#machine = machine
    this.#farm = farm
    this.#draws = draws
  }

  start({ jobId }: VideoCall): Promise<JobProgress> {
    return this.#ask(() => {
      this.#farm.submit(jobId)
      return this.#farm.look(jobId, this.#machine)
    })
  }

  poll({ jobId }: VideoCall, _state: EngineState): Promise<JobProgress> {
    return this.#ask(() => this.#farm.look(jobId, this.#machine))
  }

  #ask(question: () => JobProgress): Promise<JobProgress> {
    const isLost = this.#farm.isTroubled()
    const losesAnswer = this.#draws.once(2)
    return answered(
      this.#machine,
      new Promise((resolve, reject) => {
        this.#machine.after(this.#draws.below(40), () => {
          if (!this.#machine.isAlive) return
          const lost = () => reject(new Error('Simulated: the engine cannot be reached.'))
          if (isLost && !losesAnswer) return lost()
          const progress = question()
          if (isLost) lost()
          else resolve(progress)
        })
      }),
    )
  }
}
