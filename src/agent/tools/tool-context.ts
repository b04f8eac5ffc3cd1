import type { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { queueAudio } from '#contract/operations/audio.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import { queueVideo, type VideoQueued } from '#contract/operations/video.ts'
import type { JobStore, PaidOptions, Started, ToolContext, WalletClient } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation } from '#toolkit/tool-host.ts'
import { withoutHidden } from '#toolkit/values/untrusted.ts'
import { shownIdCharacters } from '../bounds.ts'
import { chargedFor, creditLeft } from '../calls/kept-answer.ts'
import { stillRunning } from '../calls/lost-call.ts'
import type { Keep } from '../calls/paid-call.ts'
import { WaitingCaller, whileWanted } from '../calls/waiting-callers.ts'
import { jobView } from '../jobs/job-rows.ts'
import { Jobs } from '../jobs/jobs.ts'
import type { MadeMedia } from '../media/made-media.ts'
import { ToolFiles } from '../media/tool-files.ts'
import type { OpenAgent } from '../open-agent.ts'
import { inWords } from '../words/explain.ts'
import { type Asked, answerCall, askingOf, deliverCall, paidFor, paidNow } from './answer-call.ts'

/** All effects of one call of a tool. What is thrown has been put into words; `NeedsPerson` passes. */
export function toolContext(agent: OpenAgent, invocation: Invocation): ToolContext {
  const { signal, report, whenDelivered = run => run(), called } = invocation
  const files = new ToolFiles(agent, { tool: called?.name ?? null, signal })
  const asked: Asked = { agent, signal, whenDelivered, called, files: () => files.noted() }
  const worded: Worded = (isPaid, run) => inOurWords(agent, isPaid, signal, run)
  // The first call that may find a job takes up those that earlier processes left.
  const resuming: Worded = (isPaid, run) => {
    agent.resumed.once()
    return worded(isPaid, run)
  }
  const jobs = new Jobs(agent, { signal, report, whenDelivered }, job => deliverCall(asked, job, context))
  const context: ToolContext = {
    signal,
    report,
    now: () => agent.clock.now(),
    call: (operation, call, options) =>
      worded(operation.charge !== 'free', () => answerCall(asked, operation, call, options ?? {})),
    make: (operation, call, options) =>
      worded(true, async () => {
        const { answer, paid } = await answerCall(asked, operation, call, options ?? {})
        return { ...(answer as MadeMedia), paid }
      }),
    start: (operation, call, options) => worded(true, () => start(asked, operation, call, options ?? {})),
    jobs: wordedJobs(jobs, resuming),
    files,
    wallet: wordedWallet(agent.toolWallet, worded),
    limits: () => worded(false, () => agent.limits.view()),
    models: () => worded(false, () => agent.models.allFor('background')),
  }
  return context
}

/** Runs an effect; what it throws is put into words, with what could still be paid where a purchase failed. */
export async function inOurWords<Result>(
  agent: OpenAgent,
  isPaid: boolean,
  signal: AbortSignal,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (signal.aborted) throw error
    const said = inWords(error, agent, isPaid)
    if (!isPaid || !(said instanceof ToolFailure)) throw said
    // A status that cannot be read takes nothing from the failure that can.
    const status = await agent.wallet?.status().catch(() => null)
    throw status ? new ToolFailure({ ...said.facts, budgetLeftMicroUsd: status.leftMicroUsd }) : said
  }
}

type Worded = <Result>(isPaid: boolean, run: () => Promise<Result>) => Promise<Result>

const wordedJobs = (jobs: JobStore, worded: Worded): JobStore => ({
  wait: (jobId, timeoutMs) => worded(false, () => jobs.wait(jobId, timeoutMs)),
  list: limit => worded(false, () => jobs.list(limit)),
  delete: jobId => worded(false, () => jobs.delete(jobId)),
})

const wordedWallet = (wallet: WalletClient, worded: Worded): WalletClient => ({
  status: () => worded(false, () => wallet.status()),
  topUp: (amount, options) => worded(true, () => wallet.topUp(amount, options)),
  receipts: limit => worded(false, () => wallet.receipts(limit)),
  charges: (...given) => worded(false, () => wallet.charges(...given)),
})

async function start<O extends Operation>(
  asked: Asked,
  operation: O,
  call: CallOf<O>,
  options: PaidOptions,
): Promise<Started> {
  const { agent, signal, whenDelivered, called } = asked
  const kind = startedKinds[operation.id]
  if (!kind) throw new Error(`${operation.id} starts no job.`)
  const { client, paidCalls, rows, jobRows, receipts } = agent
  const keep: Keep<O> = (rowId, answer, price) => {
    const { model, queue_id, download_url } = answer.answer as z.output<typeof VideoQueued>
    const service = client.address.baseUrl
    const startedBy = called?.name ?? null
    const job = {
      kind,
      service,
      queueId: queue_id,
      model: shortId(model),
      downloadUrl: download_url ?? null,
      startedBy,
    }
    const priceMicroUsd = chargedFor(answer) ?? price.amountMicroUsd
    const kept = { answer: answer.answer, charged: priceMicroUsd, creditLeft: creditLeft(answer, priceMicroUsd) }
    rows.answered(rowId, kept, db => jobRows.insert(db, { ...job, priceMicroUsd }))
    receipts.keep(rowId, operation, answer, price)
  }
  const caller = new WaitingCaller(signal)
  const { bought: buying } = paidCalls.buy(operation, call, { ...options, asking: askingOf(asked) }, keep, caller)
  const bought = await whileWanted(buying, signal).finally(() => caller.leave())
  if (bought.kind === 'elsewhere') throw stillRunning()
  const row = bought.kind === 'earlier' ? bought.row : rows.get(bought.rowId)
  const job = jobRows.find(row.jobId ?? '')
  if (!job) throw new Error('A job that was paid for is not in its table.')
  whenDelivered(() => paidCalls.delivered(row.id))
  if (bought.kind === 'earlier') {
    return { job: jobView(job), paid: { ...(await paidNow(agent, zeroUsd, null)), isEarlierCall: true } }
  }
  return { job: jobView(job), paid: await paidFor(agent, bought, row.chargedMicroUsd) }
}

const startedKinds: Readonly<Record<string, 'video' | 'audio'>> = { [queueVideo.id]: 'video', [queueAudio.id]: 'audio' }

const shortId = (model: string): string => withoutHidden(model).slice(0, shownIdCharacters)
