import { join } from 'node:path'
import { readPolicy } from '#wallet/policy.ts'
import { validityOverMs } from './bounds.ts'
import { checkRound } from './check-round.ts'
import type { Journals } from './journals.ts'
import { type PaidService, paidService } from './paid-service.ts'
import { planRound, policyOf, type RoundPlan } from './round-plan.ts'
import { met, type Tally } from './tally.ts'
import { playWave, type Stage } from './wave.ts'
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
  const service = await paidService({ seed, caps: policy, first: plan.first })
  const stage: Stage = {
    ...{ service, journal, crew, tally, failures: [], signers: new Map() },
    place: process => ({
      baseUrl: service.baseUrl,
      folder: journal.folderOf(process),
      notesFolder: join(folder, 'notes'),
      journalUrl: journal.url,
      policy: policyOf(plan),
      skewMs: journal.skewMs,
    }),
  }
  try {
    await playPlan(stage, plan)
    const { book } = service
    const records = journal.open()
    const { stepsInOrder } = journal
    const { maxTotalMicroUsd, cooldownMs } = policy
    const checked = { records, stepsInOrder, book, maxTotalMicroUsd, cooldownMs }
    const { failures, resolved } = await checkRound(checked).finally(() => records.close())
    count(tally, service, resolved)
    return [...stage.failures, ...failures]
  } finally {
    await service.close()
  }
}

/** What only brings to an end what others have left. */
const rest = [{ actions: [], kill: null, killAfterMs: null }]

async function playPlan(stage: Stage, { waves }: RoundPlan): Promise<void> {
  for (const { jumpMs, processes } of waves) {
    await stage.journal.advance(jumpMs)
    await playWave(stage, processes)
  }
  stage.service.recover()
  await playWave(stage, rest)
  await stage.journal.advance(validityOverMs)
  await playWave(stage, rest)
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
