/** Where a thread starts that runs seeds, one after the other as they are asked for. */
import { parentPort } from 'node:worker_threads'
import { runSeed, type SeedResult } from './run-seed.ts'
import { shrunk } from './shrink.ts'
import { Sometimes } from './sometimes.ts'

export interface SeedAsked {
  seed: number
  steps: number
}

export interface SeedAnswer {
  result: SeedResult
  /** How often this seed was in each of the interesting states. */
  reached: readonly (readonly [state: string, times: number])[]
}

async function answer({ seed, steps }: SeedAsked): Promise<SeedAnswer> {
  const sometimes = new Sometimes()
  const result = await runSeed({ seed, steps, sometimes })
  const told = result.failure ? await shrunk({ seed, sometimes: new Sometimes() }, result) : result
  return { result: told, reached: [...sometimes.counts] }
}

parentPort?.on('message', (asked: SeedAsked) => {
  answer(asked).then(
    answered => parentPort?.postMessage(answered),
    error => {
      throw error
    },
  )
})
