import type { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { nearNames } from '#contract/near-names.ts'
import { queueAudio } from '#contract/operations/audio.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import { queueVideo, type VideoQueued } from '#contract/operations/video.ts'
import { nearModels } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { jobOutput, sayBecameJob } from '#toolkit/output/job.ts'
import { paidOutput } from '#toolkit/output/paid.ts'
import { ResultInstead } from '#toolkit/run-tool.ts'
import type { Answered, JobStore, PaidOptions, Started, ToolContext, WalletClient } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { CalledTool, Invocation } from '#toolkit/tool-host.ts'
import { untrustedName, withoutHidden } from '#toolkit/values/untrusted.ts'
import { namespaceOf } from '#wallet/rules/policy.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { longCallMs, shownIdCharacters } from '../bounds.ts'
import { stillRunning } from '../calls/lost-call.ts'
import type { Bought, Buying, Keep } from '../calls/paid-call.ts'
import { chargedFor, creditLeft, keepAnswer, keptAnswer } from '../calls/stored-answer.ts'
import { WaitingCaller, whileWanted } from '../calls/waiting-callers.ts'
import { type JobRow, jobView } from '../jobs/job-rows.ts'
import { Jobs } from '../jobs/jobs.ts'
import type { MadeMedia } from '../media/made-media.ts'
import { ToolFiles } from '../media/tool-files.ts'
import type { OpenAgent } from '../open-agent.ts'
import { checkChoices } from '../prices/check-choices.ts'
import { askedModel } from '../prices/model-records.ts'
import { cannotPay, inWords, withWaysToFund } from '../words/explain.ts'
import { catalogue } from './catalogue.ts'
import { type Asked, askingOf, deliverCall, namingPayments, paidFor, paidNow } from './deliver-call.ts'

/** All effects of one tool call. Errors are put into words; `ApprovalRequired` passes unchanged. */
export function toolContext(agent: OpenAgent, invocation: Invocation): ToolContext {
  const { signal, report, whenDelivered = run => run(), called, waits = false, shows } = invocation
  const files = new ToolFiles(agent, { tool: called?.name ?? null, signal })
  const asked: Asked = { agent, signal, whenDelivered, called, waits, files: () => files.noted() }
  const worded: Worded = (isPaid, run) => inOurWords(agent, isPaid, signal, run)
  // The first call that may find a job resumes those that earlier processes left.
  const resuming: Worded = (isPaid, run) =>
    worded(isPaid, async () => {
      agent.resumed.once()
      return run()
    })
  const jobs = new Jobs(agent, { signal, report, whenDelivered }, job => deliverCall(asked, job, context))
  const context: ToolContext = {
    signal,
    report,
    shows,
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
    estimate: (name, given) =>
      worded(false, async () => {
        const { estimateCall } = await import('../prices/estimate-call.ts')
        const asked = {
          tool: await toolNamed(name),
          given,
          worded: <Result>(run: () => Promise<Result>) => worded(false, run),
        }
        return estimateCall(agent, context, asked)
      }),
    models: () => worded(false, () => agent.models.allFor('background')),
  }
  return context
}

/** Throws `ToolFailure` for a name that no tool has. */
async function toolNamed(name: string): Promise<Tool> {
  const names = Object.keys(catalogue.tools)
  const tool = names.includes(name) ? await catalogue.tools[name]?.() : undefined
  if (tool) return tool
  const near = nearNames(name, names, nearModels)
  throw new ToolFailure({
    happened: `No tool is called ${untrustedName(name)}.`,
    charged: zeroUsd,
    next: `The tools are ${(near.length > 0 ? near : names).join(', ')}. Call estimate with one of them.`,
  })
}

/** Runs an effect and puts its errors into words, with what could still be paid if a purchase failed. */
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
    const said = await withCode(inWords(error, agent, isPaid), error, agent)
    if (!isPaid || !(said instanceof ToolFailure)) throw said
    // An unreadable status must not replace the actual failure.
    const status = await agent.wallet?.status().catch(() => null)
    throw status ? new ToolFailure({ ...said.facts, budgetLeftMicroUsd: status.leftMicroUsd }) : said
  }
}

/** Adds how to fund the address that needs money, and its QR code for a phone. */
async function withCode(said: unknown, error: unknown, { client, wallet, topUps }: OpenAgent): Promise<unknown> {
  if (!(said instanceof ToolFailure) || !(error instanceof WalletRefusal) || error.rule !== 'funds') return said
  const network = error.terms?.network ?? ''
  const address = wallet?.addresses.find(each => network.startsWith(namespaceOf(each)))
  if (address === undefined) return said
  const { codeFor } = await import('../wallet-page/qr.ts')
  const shows = codeFor(address, client.address.origin)
  // There is no QR code if the money exists only on this machine.
  if (shows.length === 0) return said
  const offer = await topUps.offer().catch(() => null)
  return new ToolFailure({ ...withWaysToFund(said.facts, offer?.accepts ?? [], { address, network }), shows })
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
    receipts.keep(rowId, operation, answer, price, { tool: startedBy })
  }
  const caller = new WaitingCaller(signal)
  const buying = paidCalls.buy(operation, call, { ...options, asking: askingOf(asked) }, keep, caller)
  const wanted = whileWanted(buying.bought, signal).finally(() => caller.leave())
  const bought = await namingPayments(agent, buying.payments, wanted)
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

/**
 * Makes a call whose answer is not streamed. If a paid one takes too long, it continues as a job, whose id is thrown as
 * the result.
 */
async function answerCall<O extends Operation>(
  asked: Asked,
  operation: O,
  call: CallOf<O>,
  options: PaidOptions,
): Promise<Answered<O>> {
  const { agent, signal, whenDelivered } = asked
  const { paidCalls } = agent
  if (operation.charge === 'free') {
    if (operation.auth.length > 0 && agent.pays === 'nothing') throw cannotPay(agent)
    await checkChoices(agent.models, operation, (call as { body?: unknown }).body)
    const { answer, headers } = await agent.client.call(operation, call, { signal })
    return { answer, paid: await paidNow(agent, zeroUsd, headers.balanceRemaining ?? headers.balanceBefore) }
  }
  agent.resumed.once()
  const caller = new WaitingCaller(signal)
  const keep = keepAnswer(agent, operation, { model: askedModel(call), tool: asked.called?.name ?? null })
  const buying = paidCalls.buy(operation, call, { ...options, asking: askingOf(asked) }, keep, caller)
  const wanted = whileWanted(inTime(asked, buying, call), signal).finally(() => caller.leave())
  const bought = await namingPayments(agent, buying.payments, wanted)
  switch (bought.kind) {
    case 'elsewhere': {
      const job = agent.jobRows.ofCall(bought.row.id)
      throw job && !asked.waits ? await becomes(agent, job) : stillRunning()
    }
    case 'earlier':
      whenDelivered(() => paidCalls.delivered(bought.row.id))
      return {
        answer: keptAnswer<O>(bought.row),
        paid: { ...(await paidNow(agent, zeroUsd, null)), isEarlierCall: true },
      }
    case 'bought':
      whenDelivered(() => paidCalls.delivered(bought.rowId))
      return { answer: bought.answer.answer, paid: await paidFor(agent, bought, chargedFor(bought.answer)) }
  }
}

/** A longer call continues as a job; if that is impossible, its answer is kept for the next equal call. */
async function inTime<O extends Operation>(
  { agent, signal, called, waits }: Asked,
  { rowId, bought }: Buying<O>,
  call: CallOf<O>,
): Promise<Bought<O>> {
  if (waits) return bought
  const waiting = new AbortController()
  const late = agent.pause(longCallMs, waiting.signal).then(
    async () => {
      // A caller that cancelled never learns of the job.
      if (signal.aborted) return bought
      if (!called || !canReplay(called)) throw stillAtWork()
      const job = agent.callJobs.begin(rowId, call, called)
      // Null if the answer came at the same moment.
      return job ? Promise.reject(await becomes(agent, job)) : bought
    },
    // An ended wait is not an error.
    () => bought,
  )
  try {
    return await Promise.race([bought, late])
  } finally {
    waiting.abort()
    bought.catch(() => {})
    late.catch(() => {})
  }
}

async function becomes(agent: OpenAgent, job: JobRow): Promise<ResultInstead> {
  const shown = jobOutput(jobView(job))
  // Its cost is known when its answer is there.
  const paid = paidOutput(await paidNow(agent, null, null))
  const output = { ...shown, ...paid }
  return new ResultInstead({ output, text: sayBecameJob(shown), files: [], jobId: job.jobId })
}

const stillAtWork = (): ToolFailure =>
  new ToolFailure({
    happened: 'The model is still working; its answer will be kept here.',
    charged: 'unknown',
    next: 'Make the same call again: it waits for that answer and is not charged again.',
  })

/** Whether the result of an interrupted call can be built again once its answer is there. */
const canReplay = ({ name }: CalledTool): boolean => Object.hasOwn(catalogue.tools, name)
