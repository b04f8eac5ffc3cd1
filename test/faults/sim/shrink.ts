import { runSeed, type SeedOrder, type SeedResult } from './run-seed.ts'

/** A seed that failed, with as few of its steps as still fail. The steps of a shorter run are the first ones of the longer. */
export async function shrunk(order: Omit<SeedOrder, 'steps'>, failed: SeedResult): Promise<SeedResult> {
  if (!failed.failure) return failed
  let shortest = failed
  let wellSteps = 0
  const tries = async (steps: number): Promise<boolean> => {
    const result = await runSeed({ ...order, steps })
    if (result.failure) shortest = result
    return result.failure !== null
  }
  await tries(failed.failure.step)
  while (await tries(Math.floor(shortest.steps / 2))) if (shortest.steps === 0) return shortest
  wellSteps = Math.floor(shortest.steps / 2)
  while (shortest.steps - wellSteps > 1) {
    const middle = Math.floor((wellSteps + shortest.steps) / 2)
    if (!(await tries(middle))) wellSteps = middle
  }
  return shortest
}

/** Runs exactly this seed again. */
export const replayOfSeed = ({ seed, steps }: Pick<SeedResult, 'seed' | 'steps'>): string =>
  `npm run faults -- --sim 1 --seed ${seed} --steps ${steps}`
