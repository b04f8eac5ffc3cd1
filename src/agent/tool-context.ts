import type { z } from 'zod'
import type { ClientAnswer } from '#client/client.ts'
import { ChatCompletion } from '#contract/chat-completion.ts'
import { addUsd, fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import type { CallOf, Operation } from '#contract/operation.ts'
import { queueVideo, type VideoQueued } from '#contract/video.ts'
import { withoutHidden } from '#toolkit/from-outside.ts'
import type { Answered, JobDesk, Paid, PaidOptions, Started, ToolContext, WalletDesk } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation } from '#toolkit/tool-host.ts'
import type { AgentDesks } from './agent-desks.ts'
import { longCallMs, shownIdCharacters } from './bounds.ts'
import type { Core } from './core.ts'
import { nobodyPays } from './explain.ts'
import { Jobs } from './job-desk.ts'
import { jobView } from './job-rows.ts'
import { keptAnswer } from './paid-call.ts'

/** All effects of one call of a tool. What is thrown has been put into words; `NeedsPerson` passes. */
export function toolContext(desks: AgentDesks, invocation: Invocation): ToolContext {
  const { core } = desks
  const { signal, report, whenDelivered = run => run() } = invocation
  const asked: Asked = { desks, signal, whenDelivered }
  const worded = <Result>(isPaid: boolean, run: () => Promise<Result>) => desks.worded(isPaid, signal, run)
  // The first call that may find a job takes up those that earlier processes left.
  const resuming: Worded = (isPaid, run) => {
    desks.resumed.once()
    return worded(isPaid, run)
  }
  return {
    signal,
    report,
    call: (operation, call, options) =>
      worded(operation.charge !== 'free', () => callOne(asked, operation, call, options ?? {})),
    start: (operation, call, options) => worded(true, () => start(asked, operation, call, options ?? {})),
    jobs: wordedJobs(new Jobs(core, desks.jobRows, { signal, report, whenDelivered }), resuming),
    files: core.files,
    wallet: wordedWallet(desks, worded),
    limits: () => worded(false, () => desks.limits.view()),
  }
}

/** One call of a tool, as its effects need it. */
interface Asked {
  desks: AgentDesks
  signal: AbortSignal
  whenDelivered: NonNullable<Invocation['whenDelivered']>
}

type Worded = <Result>(isPaid: boolean, run: () => Promise<Result>) => Promise<Result>

const wordedJobs = (jobs: JobDesk, worded: Worded): JobDesk => ({
  wait: (jobId, timeoutMs) => worded(false, () => jobs.wait(jobId, timeoutMs)),
  list: limit => worded(false, () => jobs.list(limit)),
})

const wordedWallet = ({ wallet }: AgentDesks, worded: Worded): WalletDesk => ({
  status: () => worded(false, () => wallet.status()),
  topUp: (amount, options) => worded(true, () => wallet.topUp(amount, options)),
  receipts: limit => worded(false, () => wallet.receipts(limit)),
  charges: limit => worded(false, () => wallet.charges(limit)),
})

async function callOne<O extends Operation>(
  { desks, signal, whenDelivered }: Asked,
  operation: O,
  call: CallOf<O>,
  options: PaidOptions,
): Promise<Answered<O>> {
  const { core, paidCalls, rows } = desks
  if (operation.charge === 'free') {
    if (operation.auth.length > 0 && core.pays === 'nothing') throw nobodyPays(core)
    const { answer, headers } = await core.client.call(operation, call, { signal })
    return { answer, paid: await desks.paid(zeroUsd, headers.balanceRemaining ?? headers.balanceBefore) }
  }
  desks.resumed.once()
  const buying = paidCalls.buy(operation, call, options, (rowId, answer, price) => {
    rows.answered(rowId, answer.answer, charged(answer))
    desks.receipts.keep(rowId, operation, answer, price)
  })
  const bought = await whileWanted(inTime(core, buying), signal)
  if (bought.kind === 'earlier') {
    whenDelivered(() => paidCalls.delivered(bought.row.id))
    return { answer: keptAnswer<O>(bought.row), paid: { ...(await desks.paid(zeroUsd, null)), isEarlierCall: true } }
  }
  whenDelivered(() => paidCalls.delivered(bought.rowId))
  return { answer: bought.answer.answer, paid: await paidFor(desks, bought, charged(bought.answer)) }
}

async function start<O extends Operation>(
  { desks, signal, whenDelivered }: Asked,
  operation: O,
  call: CallOf<O>,
  options: PaidOptions,
): Promise<Started> {
  if (operation.id !== queueVideo.id) throw new Error(`${operation.id} starts no job.`)
  const { core, paidCalls, rows, jobRows } = desks
  const keep: Parameters<typeof paidCalls.buy<O>>[3] = (rowId, answer, price) => {
    const { model, queue_id, download_url } = answer.answer as z.output<typeof VideoQueued>
    const service = core.client.address.baseUrl
    const job = { service, queueId: queue_id, model: shortId(model), downloadUrl: download_url ?? null }
    const priceMicroUsd = charged(answer) ?? price.amountMicroUsd
    rows.answered(rowId, answer.answer, priceMicroUsd, db => jobRows.insert(db, { ...job, priceMicroUsd }))
    desks.receipts.keep(rowId, operation, answer, price)
  }
  const bought = await whileWanted(paidCalls.buy(operation, call, options, keep), signal)
  const row = bought.kind === 'earlier' ? bought.row : rows.get(bought.rowId)
  const job = jobRows.find(row.jobId ?? '')
  if (!job) throw new Error('A job that was paid for is not in its table.')
  whenDelivered(() => paidCalls.delivered(row.id))
  if (bought.kind === 'earlier') {
    return { job: jobView(job), paid: { ...(await desks.paid(zeroUsd, null)), isEarlierCall: true } }
  }
  return { job: jobView(job), paid: await paidFor(desks, bought, row.chargedMicroUsd) }
}

const shortId = (model: string): string => withoutHidden(model).slice(0, shownIdCharacters)

async function paidFor(
  desks: AgentDesks,
  { rowId, answer }: { rowId: string; answer: ClientAnswer<Operation> },
  amount: MicroUsd | null,
): Promise<Paid> {
  const { balanceRemaining, balanceBefore } = answer.headers
  const left = balanceBefore !== null && amount !== null ? addUsd(balanceBefore, -amount) : null
  const problem = await desks.receipts.problemOf(rowId)
  return {
    ...(await desks.paid(amount, balanceRemaining ?? left)),
    ...(problem === null ? {} : { receiptProblem: problem }),
  }
}

/** What the service says it took; where it does not say, what the credit lost. */
function charged({ answer, headers }: ClientAnswer<Operation>): MicroUsd | null {
  const cost = ChatCompletion.safeParse(answer).data?.cost
  if (cost) return fromUsdNumber(cost.usd)
  const { balanceRemaining, balanceBefore, isReplayed } = headers
  // A repeated answer says what the credit is now; what the first one took was taken before.
  if (isReplayed || balanceRemaining === null || balanceBefore === null) return null
  if (balanceRemaining > balanceBefore) return null
  return addUsd(balanceBefore, -balanceRemaining)
}

/** What takes longer goes on, and its answer is kept for the next same call. */
async function inTime<Result>({ pause }: Core, work: Promise<Result>): Promise<Result> {
  const waiting = new AbortController()
  // A wait that was ended says nothing.
  const late = pause(longCallMs, waiting.signal).then(stillAtWork, () => work)
  try {
    return await Promise.race([work, late])
  } finally {
    waiting.abort()
    work.catch(() => {})
  }
}

function stillAtWork(): never {
  throw new ToolFailure({
    happened: 'The model is still at work; its answer is kept here when it comes.',
    charged: 'unknown',
    next: 'Make the same call again: it waits for that answer, and pays nothing more.',
  })
}

/** Stops waiting when nobody wants the result any more; what was bought is kept for the next same call. */
async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  let stop: (() => void) | undefined
  const unwanted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const result = await Promise.race([work, unwanted])
    signal.throwIfAborted()
    return result
  } finally {
    // The work may fail after its caller has gone.
    work.catch(() => {})
    if (stop) signal.removeEventListener('abort', stop)
  }
}
