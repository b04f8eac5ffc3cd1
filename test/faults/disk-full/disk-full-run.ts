import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder } from '#cli/data/data-folder.ts'
import { diskFullMs, fullErrors } from '../bounds.ts'
import { Campaign } from '../campaign.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import { buildShim, whyNoShim } from '../power/build-shim.ts'
import { everything, untilBusy } from '../start-load.ts'
import { table } from '../table.ts'

/** The disk under the real server's database is full for a while, again and again, under load. */
export async function diskFullRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const why = whyNoShim()
  if (why) return { isWell: false, lines: [why] }
  const marker = join(folder, 'disk-is-full')
  const env = {
    LD_PRELOAD: buildShim(folder),
    FAREBOX_SHIM_FOLDER: dirname(dataFolder(folder).database),
    FAREBOX_SHIM_FULL: marker,
  }
  const plans = Array.from({ length: count }, () => fullDisk(marker))
  const onKill = (kills: number) => say(`${kills} times full`)
  const campaign = new Campaign({ plans, env, seed, folder, waitForLeases: true, onKill })
  onStop(() => campaign.end())
  const report = await campaign.run()
  return { isWell: report.findings.failures.length === 0, lines: table(report) }
}

const fullDisk = (marker: string): KillPlan => ({
  mix: everything,
  isArmed: true,
  mayFail: true,
  mayComplain: true,
  async untilKill({ round, server, isAnswered }: Life) {
    await untilBusy(round)
    const wanted = round.book.storeErrors + fullErrors
    await writeFile(marker, '')
    const endMs = Date.now() + diskFullMs
    while (round.book.storeErrors < wanted && Date.now() < endMs) await sleep(20)
    if (round.book.storeErrors < wanted) round.book.surprises.push('A full disk was noticed by too few callers.')
    await rm(marker)
    if (!(await isAnswered(server)))
      round.book.surprises.push('The server did not go on after the disk had room again.')
  },
})
