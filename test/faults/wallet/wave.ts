import type { RoundJournal } from './journals.ts'
import type { PaidService } from './paid-service.ts'
import type { PlannedProcess } from './round-plan.ts'
import { atOnce, endedByAnother, killedAnywhere, killedAt, type Tally } from './tally.ts'
import type { Told, WalletPlace } from './told.ts'
import type { Crew, Worker } from './worker.ts'

export interface Stage {
  service: PaidService
  journal: RoundJournal
  crew: Crew
  tally: Tally
  failures: string[]
  /** Who has signed which payment. */
  signers: Map<string, number>
  place(process: number): WalletPlace
}

/** So many processes at once on one budget; ends when each has ended its actions, or died. */
export async function playWave(stage: Stage, processes: readonly PlannedProcess[]): Promise<void> {
  const workers = stage.crew.take(processes.length)
  // Their starts take longer than their payments, and they are to pay at once.
  await Promise.all(workers.map(worker => worker.ready))
  await Promise.all(
    workers.map(async (worker, index) => {
      const planned = processes[index]
      if (planned) await playProcess(stage, worker, index, planned)
    }),
  )
}

async function playProcess(stage: Stage, worker: Worker, index: number, planned: PlannedProcess): Promise<void> {
  const { tally, failures } = stage
  const { actions, kill, killAfterMs } = planned
  tally.processes++
  const timer = killAfterMs === null ? undefined : setTimeout(() => worker.kill(), killAfterMs)
  const onTold = listener(stage, worker)
  const end = await worker.work({ place: stage.place(index), actions, kill }, onTold)
  clearTimeout(timer)
  failures.push(...end.failures)
  if (end.wasKilled) tally.reach(kill ? killedAt(kill.point) : killedAnywhere)
}

function listener({ service, tally, failures, signers }: Stage, worker: Worker): (told: Told) => void {
  let intents = 0
  return told => {
    if (told.kind === 'waited') tally.reach(atOnce)
    if (told.kind === 'action') intents = 0
    if (told.kind === 'dies') {
      service.killAt(told.nonce, told.point, () => worker.kill())
      worker.answer()
    }
    if (told.kind !== 'step') return
    if (told.step === 'planned' && ++intents > 1) failures.push(`One call planned a second payment, ${told.id}.`)
    if (told.step === 'signed') signers.set(told.id, worker.pid)
    const signer = signers.get(told.id)
    if (told.step === 'confirmed' && signer !== undefined && signer !== worker.pid) tally.reach(endedByAnother)
  }
}
