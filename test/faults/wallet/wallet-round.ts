import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import type { Records } from '#wallet/records/records.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { seeded } from '../seeded.ts'
import { validityOverMs } from './bounds.ts'
import { checkReserved, checkRound } from './check-round.ts'
import type { Journals, RoundJournal } from './journals.ts'
import { type PaidService, paidService } from './paid-service.ts'
import { planRound, policyOf, type RoundPlan } from './round-plan.ts'
import { agreed, met, type Tally, told } from './tally.ts'
import { playWave, type Stage, switchOf } from './wave.ts'
import type { Crew } from './worker.ts'

export interface RoundTerms {
  seed: number
  folder: string
  journals: Journals
  crew: Crew
  tally: Tally
}

/** One budget, several processes, a service in trouble and kills; then everything anew and without trouble, and the checks. */
export async function playRound({ seed, folder, journals, crew, tally }: RoundTerms): Promise<readonly string[]> {
  const plan = planRound(seed)
  const journal = await journals.begin(folder)
  const policy = readPolicy({ ...policyOf(plan), serviceUrl: 'http://127.0.0.1' })
  const service = await paidService({ seed, caps: policy, first: plan.first, now: () => Date.now() + journal.skewMs })
  const gates = join(folder, 'gates')
  mkdirSync(gates, { recursive: true })
  const stage: Stage = {
    ...{ service, journal, crew, tally, failures: [], signers: new Map(), gates },
    ownersSwitch: switchOf(journal, seeded(seed, 'switch').once(2)),
    place: (process, door) => ({
      baseUrl: service.baseUrls[door],
      folder: journal.folderOf(process),
      notesFolder: join(folder, 'notes'),
      journalUrl: journal.url,
      policy: policyOf(plan),
      skewMs: journal.skewMs,
    }),
  }
  tally.reach(told(plan.story))
  try {
    await playPlan(stage, plan)
    const { book } = service
    const { stepsInOrder } = journal
    const checked = { stepsInOrder, book, ...policy }
    const { failures, resolved } = await withRecords(stage, records => checkRound({ records, ...checked }))
    count(tally, service, resolved)
    return [...stage.failures, ...failures]
  } finally {
    await service.close()
  }
}

async function withRecords<Result>({ journal }: Stage, use: (records: Records) => Promise<Result>): Promise<Result> {
  const records = journal.open()
  return use(records).finally(() => records.close())
}

async function playPlan(stage: Stage, { waves }: RoundPlan): Promise<void> {
  const { journal, service, failures, ownersSwitch } = stage
  for (const wave of waves) {
    await journal.advance(wave.jumpMs === 'midnight' ? pastMidnightMs(journal) : wave.jumpMs)
    await playWave(stage, wave)
    failures.push(...(await withRecords(stage, checkReserved)))
    if (service.book.isSwitchedOff) await ownersSwitch.on()
    service.book.isSwitchedOff = false
    await withRecords(stage, records => agreeToAll(records, stage.tally))
  }
  service.recover()
  await bringToRest(stage, waves)
  await journal.advance(validityOverMs)
  await bringToRest(stage, waves)
}

const dayMs = 24 * 60 * 60 * 1_000
const pastMidnightMs = ({ skewMs }: RoundJournal): number => dayMs - ((Date.now() + skewMs) % dayMs) + 60_000

/** The wallet's owner, who says yes to every question once. */
async function agreeToAll(records: Records, tally: Tally): Promise<void> {
  const approvals = openApprovals(records, '')
  for (const { id } of await approvals.list('pending')) {
    await approvals.resolve(id, { isApproved: true, by: 'the harness' })
    tally.reach(agreed)
  }
}

/** One process for each service, which only brings to an end what others have left. */
async function bringToRest(stage: Stage, waves: RoundPlan['waves']): Promise<void> {
  const resting = { actions: [], kill: null, killAfterMs: null, halts: [] }
  for (const door of new Set(waves.map(wave => wave.door)))
    await playWave(stage, { jumpMs: 0, door, processes: [resting], whileFirstHalts: null })
}

function count(tally: Tally, { book }: PaidService, resolved: number): void {
  tally.rounds++
  tally.resolved += resolved
  for (const { behaviour, settledMicroUsd } of book.authorizations.values()) {
    tally.reach(met(behaviour))
    tally.authorizations++
    tally.settledMicroUsd += settledMicroUsd
  }
}
