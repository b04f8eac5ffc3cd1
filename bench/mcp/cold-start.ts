import { performance } from 'node:perf_hooks'
import { coldStartRounds, warmUpRounds } from './bounds.ts'
import { LineServer, type ServerCommand } from './line-server.ts'
import { median } from './median.ts'

/** Median milliseconds from spawn to the answer of `initialize`, by name. The servers take turns, so that a busy machine slows all. */
export async function coldStarts(commands: readonly ServerCommand[]): Promise<Map<string, number>> {
  const startsMs = new Map<string, number[]>(commands.map(({ name }) => [name, []]))
  for (let round = 0; round < warmUpRounds + coldStartRounds; round++) {
    for (const command of turned(commands, round)) {
      const startMs = await coldStartMs(command)
      if (round >= warmUpRounds) startsMs.get(command.name)?.push(startMs)
    }
  }
  return new Map([...startsMs].map(([name, values]) => [name, median(values)]))
}

async function coldStartMs(command: ServerCommand): Promise<number> {
  const beganMs = performance.now()
  const server = new LineServer(command)
  try {
    await server.initialize()
    return performance.now() - beganMs
  } finally {
    await server.end()
  }
}

/** Another one begins in each round, so that none always follows the same neighbour. */
const turned = <Item>(items: readonly Item[], by: number): Item[] => {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
