import { setTimeout as sleep } from 'node:timers/promises'
import { clockJumpMs, clockJumps, clockPauseMs } from '../bounds.ts'
import { Campaign } from '../campaign.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import { cutChat, streamedChat, wholeChat } from '../loads/chats.ts'
import { queueVideos, retrieveVideos } from '../loads/video.ts'
import { table } from '../table.ts'

/** The clock of the real server jumps under load, forwards and back; then it is killed, and the next start has the true time. */
export async function clockRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const plans = Array.from({ length: count }, () => jumps)
  const onKill = (kills: number) => say(`${kills * clockJumps} jumps`)
  const campaign = new Campaign({ plans, seed, folder, waitForLeases: true, onKill })
  onStop(() => campaign.end())
  const report = await campaign.run()
  return { isWell: report.findings.failures.length === 0, lines: table(report) }
}

/** Without wallets: what they sign is dated by the true time, and rightly refused by a server that believes another. */
const jumps: KillPlan = {
  mix: [
    ['chat', wholeChat, 2],
    ['stream', streamedChat, 4],
    ['cut', cutChat, 2],
    ['queue', queueVideos, 1],
    ['retrieve', retrieveVideos, 1],
  ],
  isArmed: false,
  async untilKill({ server, seeded }: Life) {
    for (let jump = 0; jump < clockJumps; jump++) {
      server.order({ clockSkewMs: seeded.below(2 * clockJumpMs) - clockJumpMs })
      await sleep(clockPauseMs)
    }
  },
}
