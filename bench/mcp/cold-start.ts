import { performance } from 'node:perf_hooks'
import { median } from '../kit/report.ts'
import { turned } from '../kit/rounds.ts'
import { coldStartRounds, warmUpRounds } from './bounds.ts'
import { LineServer, type ServerCommand } from './line-server.ts'

/** Milliseconds from spawn to the answer of `initialize`, a row a round, in the order of `commands`. */
export async function coldStarts(commands: readonly ServerCommand[]): Promise<number[][]> {
  const rounds: number[][] = []
  for (let round = 0; round < warmUpRounds + coldStartRounds; round++) {
    const startsMs = new Array<number>(commands.length)
    for (const [index, command] of turned([...commands.entries()], round)) startsMs[index] = await coldStartMs(command)
    if (round >= warmUpRounds) rounds.push(startsMs)
  }
  return rounds
}

export const medianOf = (rounds: readonly number[][], which: number): number =>
  median(rounds.map(startsMs => startsMs[which] ?? Number.NaN))

/** The median of the rounds' own ratios: what slows the machine for a moment slows both sides of a round. */
export const medianRatio = (rounds: readonly number[][], one: number, other: number): number =>
  median(rounds.map(startsMs => (startsMs[one] ?? Number.NaN) / (startsMs[other] ?? Number.NaN)))

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
