import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { leaseMs } from '#wallet/limits.ts'
import { start, stop, stopFileName } from '#wallet/rules/stop-switch.ts'
import { Gates } from './gates.ts'
import type { RoundJournal } from './journals.ts'
import type { PaidService } from './paid-service.ts'
import type { PlannedProcess, PlannedWave } from './round-plan.ts'
import { atOnce, endedByAnother, halted, killedAnywhere, killedAt, ranOut, switchedOff, type Tally } from './tally.ts'
import type { Told, WalletPlace } from './work-order.ts'
import type { Crew, Worker } from './worker.ts'

/** What the owner of the wallet switches it off with. */
export interface Switch {
  off(): Promise<void>
  on(): Promise<void>
}

/** By a file, where all processes share its folder and the draw says so; else by the row of all. */
export function switchOf(journal: RoundJournal, isFile: boolean): Switch {
  const file = join(journal.folderOf(0), stopFileName)
  if (isFile && journal.url === null)
    return { off: async () => writeFileSync(file, ''), on: async () => rmSync(file, { force: true }) }
  const decide = async (work: (nowMs: number) => ReturnType<typeof start>): Promise<void> => {
    const records = journal.open()
    await records.decide(work).finally(() => records.close())
  }
  return { off: () => decide(nowMs => stop('the harness', nowMs)), on: () => decide(() => start()) }
}

export interface Stage {
  service: PaidService
  journal: RoundJournal
  crew: Crew
  tally: Tally
  failures: string[]
  /** Who has signed which payment. */
  signers: Map<string, number>
  ownersSwitch: Switch
  /** Where the files lie for which halted processes wait. */
  gates: string
  place(process: number, door: 0 | 1): WalletPlace
}

/** So many processes at once on one budget; ends when each has ended its actions, or died. */
export async function playWave(stage: Stage, wave: PlannedWave): Promise<void> {
  const { processes, whileFirstHalts } = wave
  const workers = await stage.crew.take(processes.length)
  const gates = new Gates<Worker>(() => stage.journal.skewMs)
  const play = async (worker: Worker, index: number): Promise<void> => {
    const planned = processes[index]
    if (planned) await playProcess({ ...stage, workers: gates, worker }, stage.place(index, wave.door), planned)
  }
  if (whileFirstHalts === null) {
    gates.start(workers)
    await Promise.all(workers.map(play))
    return
  }
  const [first, ...others] = workers
  if (!first) return
  const rests = gates.lead(first)
  const played = play(first, 0)
  await rests
  if (gates.isHalted(first)) await meanwhile(stage, whileFirstHalts)
  gates.start(others)
  const playing = others.map((worker, index) => play(worker, index + 1))
  gates.letGo()
  await Promise.all([played, ...playing])
}

async function meanwhile(
  { service, journal, ownersSwitch, tally }: Stage,
  what: NonNullable<PlannedWave['whileFirstHalts']>,
): Promise<void> {
  if (what === 'the switch is thrown') {
    await ownersSwitch.off()
    service.book.isSwitchedOff = true
    tally.reach(switchedOff)
  }
  if (what === 'its turn runs out') {
    await journal.advance(leaseMs + 1_000)
    tally.reach(ranOut)
  }
}

interface Playing extends Stage {
  worker: Worker
  workers: Gates<Worker>
}

async function playProcess(playing: Playing, place: WalletPlace, planned: PlannedProcess): Promise<void> {
  const { tally, failures, worker, workers, gates } = playing
  const { actions, kill, killAfterMs, halts } = planned
  tally.processes++
  const timer = killAfterMs === null ? undefined : setTimeout(() => worker.kill(), killAfterMs)
  const end = await worker.work({ place, actions, kill, halts, gates }, listener(playing))
  clearTimeout(timer)
  workers.ended(worker)
  failures.push(...end.failures)
  if (end.wasKilled) tally.reach(kill ? killedAt(kill.point) : killedAnywhere)
}

function listener({ service, tally, failures, signers, worker, workers }: Playing): (told: Told) => void {
  let intents = 0
  return told => {
    workers.told(worker, told)
    if (told.kind === 'waited') tally.reach(atOnce)
    if (told.kind === 'halted') tally.reach(halted(told.point))
    if (told.kind === 'action') intents = 0
    if (told.kind === 'dies') {
      service.killAt(told.nonce, told.point, () => worker.kill())
      worker.answer()
    }
    if (told.kind === 'signs' && intents === 0) failures.push('A payment was signed before its row was written.')
    if (told.kind !== 'step') return
    if (told.step === 'planned' && ++intents > 1) failures.push(`One call planned a second payment, ${told.id}.`)
    if (told.step === 'signed') signers.set(told.id, worker.pid)
    const signer = signers.get(told.id)
    if (told.step === 'confirmed' && signer !== undefined && signer !== worker.pid) tally.reach(endedByAnother)
  }
}
