import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { formatUsd, microUsd } from '#contract/money.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { roundsForAll, toldEvery } from './bounds.ts'
import { openJournals } from './journals.ts'
import { Tally } from './tally.ts'
import { playRound } from './wallet-round.ts'
import { Crew } from './worker.ts'

/** Rounds of the wallet under kills against a service in trouble; one seed a round, counted from the first. */
export async function walletRun({ count, seed, store, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const journals = await openJournals(store)
  const crew = new Crew()
  const end = async () => void (await Promise.allSettled([crew.end(), journals.end()]))
  onStop(end)
  const tally = new Tally()
  const failures: string[] = []
  try {
    for (let round = 0; round < count; round++) {
      const own = { seed: (seed + round) % 2 ** 32, folder: join(folder, `round-${round}`) }
      const found = await playRound({ ...own, journals, crew, tally })
      const again = `(npm run faults -- --wallet 1 --seed ${own.seed}${store === 'postgres' ? ' --store postgres' : ''})`
      failures.push(...found.map(failure => `seed ${own.seed}: ${failure} ${again}`))
      if (found.length === 0) await rm(own.folder, { recursive: true, force: true })
      if ((round + 1) % toldEvery === 0) say(`${round + 1} rounds, failures ${failures.length}`)
    }
  } finally {
    await end()
  }
  const { missed } = tally
  if (count >= roundsForAll) failures.push(...missed.map(state => `Never met: ${state}.`))
  return { isWell: failures.length === 0, lines: linesOf(tally, missed, failures) }
}

function linesOf(tally: Tally, missed: readonly string[], failures: readonly string[]): string[] {
  return [
    ...[...tally.states].map(([state, times]) => `${`${times}`.padEnd(8)}${state}`),
    ...rowsAsLines([
      ['rounds', `${tally.rounds}, of ${tally.processes} processes`],
      ['distinct authorizations', `${tally.authorizations}`],
      ['settled', `${formatUsd(microUsd(tally.settledMicroUsd))} USD`],
      ['ended by the owner', `${tally.resolved}`],
      ['states met', `${tally.states.size - missed.length} of ${tally.states.size}`],
    ]),
    ...failuresAsLines(failures),
    `failures ${failures.length}`,
  ]
}
