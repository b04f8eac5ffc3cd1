import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { whyNoShim } from './build-shim.ts'
import { type PowerReport, runPowerLosses } from './power-losses.ts'
import { survivalKinds } from './survival.ts'

const toldEvery = 50

/** Losses of power, of which a kill shows nothing: what was written stays in the machine's memory then. */
export async function powerRun({ count, seed, folder, say }: RunOrder): Promise<RunEnd> {
  const why = whyNoShim()
  if (why) return { isWell: false, lines: [why] }
  const onImage = (images: number) => {
    if (images % toldEvery === 0) say(`${images} images`)
  }
  const report = await runPowerLosses({ images: count, seed, folder, onImage })
  return { isWell: report.failures.length === 0, lines: tableOf(report) }
}

function tableOf(report: PowerReport): string[] {
  const rows = rowsAsLines([
    ['losses of power', `${report.images}, of them ${report.withUnsynced} with something that was not synced`],
    ...survivalKinds.map(kind => [`  ${kind}`, `${report.byKind[kind]}`] as const),
    ['changes recorded', `${report.changes}, of them ${report.syncs} syncs`],
    ['acknowledged units', `${report.acknowledged}`],
  ])
  const verdict = `images ${report.images}, of them unsound ${report.failures.length}`
  return [...rows, ...failuresAsLines(report.failures), verdict]
}
