import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { mostThreads, seedsPerThread } from './bounds.ts'
import type { SeedResult } from './run-seed.ts'
import type { SeedAnswer, SeedAsked } from './seed-thread.ts'
import { Sometimes } from './sometimes.ts'

export interface SimulationOrder {
  /** Seeds from `firstSeed` on. */
  seeds: number
  firstSeed: number
  steps: number
  onSeed?: (done: number, result: SeedResult) => void
  /** Called once with what ends the run early. */
  onStop?: (end: () => Promise<void>) => void
}

export interface SimulationReport {
  seeds: number
  steps: number
  failed: SeedResult[]
  sometimes: Sometimes
  tookMs: number
}

/** Runs seeds on as many threads as there are cores. The order of their ends changes nothing: each seed has a world of its own. */
export async function simulate(order: SimulationOrder): Promise<SimulationReport> {
  const { seeds, firstSeed, steps, onSeed } = order
  const startedMs = performance.now()
  const sometimes = new Sometimes()
  const failed: SeedResult[] = []
  let asked = 0
  let done = 0
  const threads = Array.from(
    { length: threadsFor(seeds) },
    () => new Worker(new URL('./seed-thread.ts', import.meta.url)),
  )
  const end = async () => void (await Promise.all(threads.map(thread => thread.terminate())))
  order.onStop?.(end)
  try {
    const works = threads.map(async thread => {
      while (asked < seeds) {
        const { result, reached } = await askThread(thread, { seed: firstSeed + asked++, steps })
        sometimes.add(reached)
        if (result.failure) failed.push(result)
        onSeed?.(++done, result)
      }
    })
    await Promise.all(works)
  } finally {
    await end()
  }
  failed.sort((one, other) => one.seed - other.seed)
  return { seeds, steps, failed, sometimes, tookMs: performance.now() - startedMs }
}

const threadsFor = (seeds: number): number =>
  Math.max(1, Math.min(mostThreads, availableParallelism(), Math.ceil(seeds / seedsPerThread)))

function askThread(thread: Worker, asked: SeedAsked): Promise<SeedAnswer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`The thread of seed ${asked.seed} ended.`))
    thread.once('message', (answer: SeedAnswer) => {
      thread.off('error', reject)
      thread.off('exit', ended)
      resolve(answer)
    })
    thread.once('error', reject)
    thread.once('exit', ended)
    thread.postMessage(asked)
  })
}
