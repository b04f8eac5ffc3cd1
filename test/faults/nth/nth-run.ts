import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { failEveryCommit } from './fail-nth.ts'
import { failures } from './failing-store.ts'

const toldEvery = 20

/** The n-th commit of a flow fails, for every n. */
export async function nthRun({ count, folder, say }: RunOrder): Promise<RunEnd> {
  const onRun = (runs: number) => {
    if (runs % toldEvery === 0) say(`${runs} runs`)
  }
  const wrong: string[] = []
  const commits = new Map<string, number>()
  let runs = 0
  for (let time = 0; time < count; time++) {
    const report = await failEveryCommit({ folder, onRun })
    runs += report.runs
    wrong.push(...report.failures)
    for (const [flow, each] of report.commits) commits.set(flow, each)
  }
  const rows = rowsAsLines([
    ['runs', `${runs}`],
    ['ways to fail', failures.join(', ')],
    ...[...commits].map(([flow, each]) => [`  ${flow}`, `${each} commits`] as const),
  ])
  const verdict = `runs ${runs}, failures ${wrong.length}`
  return { isWell: wrong.length === 0, lines: [...rows, ...failuresAsLines(wrong), verdict] }
}
