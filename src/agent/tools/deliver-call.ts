import { displayUsd, type MicroUsd } from '#contract/money.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { ResultInstead, runTool, type ToolResult } from '#toolkit/run-tool.ts'
import type { Answered, Paid, ToolContext } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { CalledTool, Invocation } from '#toolkit/tool-host.ts'
import { FormFile } from '#toolkit/values/form-file.ts'
import type { AskedFile } from '#wallet/terms/about-call.ts'
import type { ToolAsking } from '../calls/about-request.ts'
import type { Bought } from '../calls/paid-call.ts'
import type { CallPayment } from '../calls/pay-after-402.ts'
import { creditLeft, keptAnswer } from '../calls/stored-answer.ts'
import type { JobRow } from '../jobs/job-rows.ts'
import type { MadeMedia } from '../media/made-media.ts'
import type { OpenAgent } from '../open-agent.ts'
import { sayRefill } from '../wallet/refills.ts'
import { inWords } from '../words/explain.ts'
import { asTyped, placeOf } from '../words/typed-commands.ts'
import { catalogue } from './catalogue.ts'

/** Returns what was charged, and the remaining credit and budget. */
export async function paidNow(
  agent: OpenAgent,
  chargedMicroUsd: MicroUsd | null,
  creditLeftMicroUsd: MicroUsd | null,
): Promise<Paid> {
  const status = await agent.wallet?.status()
  const note = status?.refill ? sayRefill(status.refill) : null
  const budgetLeftMicroUsd = status?.leftMicroUsd ?? null
  return {
    chargedMicroUsd,
    creditLeftMicroUsd,
    budgetLeftMicroUsd,
    ...(note === null ? {} : { notes: [asTyped(note, placeOf(agent))] }),
  }
}

/** Returns what was paid for an answer that has just arrived. */
export async function paidFor(
  agent: OpenAgent,
  { rowId, answer, payments }: Pick<Extract<Bought<Operation>, { kind: 'bought' }>, 'rowId' | 'answer' | 'payments'>,
  amount: MicroUsd | null,
): Promise<Paid> {
  const paid = await paidNow(agent, amount, creditLeft(answer, amount))
  const notes = [...payments.map(sayTopUp), ...(paid.notes ?? [])]
  return withReceipt(agent, rowId, notes.length > 0 ? { ...paid, notes } : paid)
}

/** Adds to a failure what the wallet has paid before it, because that credit remains. */
export async function namingPayments<Result>(
  agent: OpenAgent,
  payments: readonly CallPayment[],
  run: Promise<Result>,
): Promise<Result> {
  try {
    return await run
  } catch (error) {
    const said = payments.length > 0 ? inWords(error, agent, true) : null
    if (!(said instanceof ToolFailure)) throw error
    throw new ToolFailure({ ...said.facts, happened: [said.facts.happened, ...payments.map(sayTopUp)].join(' ') })
  }
}

const sayTopUp = ({ amountMicroUsd, receiptId, isResent = false }: CallPayment): string =>
  isResent
    ? `An earlier payment of ${displayUsd(amountMicroUsd)} was sent again and is now credited (${receiptId}).`
    : `There was too little credit, so the wallet first bought credit for ${displayUsd(amountMicroUsd)} (${receiptId}).`

/** For a finished job: returns the result of the tool that was called, with the cost of that call. */
export async function deliverCall({ agent, whenDelivered }: Asked, job: JobRow, context: ToolContext): Promise<never> {
  const { tool } = agent.jobRows.callParts(job.jobId)
  const row = agent.callJobs.answered(job)
  if (tool === null) throw new Error('A job’s answer is kept, but the call that it answers is not.')
  const paid = await withReceipt(agent, row.id, await paidNow(agent, row.chargedMicroUsd, row.creditLeftMicroUsd))
  const result = await replayTool(context, tool, row.operation, { answer: keptAnswer(row), paid })
  whenDelivered(() => agent.callJobs.delivered(job))
  throw new ResultInstead(result)
}

/** Adds what is wrong with the receipt of that call. */
export async function withReceipt(agent: OpenAgent, rowId: string, paid: Paid): Promise<Paid> {
  const problem = await agent.receipts.problemOf(rowId)
  return problem === null ? paid : { ...paid, receiptProblem: problem }
}

/**
 * Builds a tool's result from an answer that came later: runs the tool once more, with that answer instead of its paid
 * call.
 */
async function replayTool(
  context: ToolContext,
  { name, given }: CalledTool,
  operation: string,
  answered: Answered<Operation>,
): Promise<ToolResult> {
  const tool = await catalogue.tools[name]?.()
  if (!tool) throw new Error(`The catalogue no longer has ${name}.`)
  const outcome = await runTool(tool, given, () => answeredContext(context, operation, answered))
  if (outcome.kind === 'done') {
    const { kind: _kind, ...result } = outcome
    return result
  }
  if (outcome.kind === 'failed') throw new ToolFailure(outcome.facts)
  throw outcome.kind === 'fault'
    ? outcome.error
    : new Error(`${name} asked for an approval although nothing is bought.`)
}

/** A context in which nothing is bought. The request was already sent, so its files may have been deleted. */
const answeredContext = (context: ToolContext, answeredId: string, answered: Answered<Operation>): ToolContext => ({
  ...context,
  call(operation, call, options) {
    if (operation.id === answeredId) return Promise.resolve(answered as never)
    if (isPaid(operation)) throw new Error(`${operation.id} would be bought a second time.`)
    return context.call(operation, call, options)
  },
  make(operation) {
    if (operation.id === answeredId) return Promise.resolve({ ...(answered.answer as MadeMedia), paid: answered.paid })
    throw new Error(`${operation.id} would be bought a second time.`)
  },
  start(operation) {
    throw new Error(`${operation.id} would be bought a second time.`)
  },
  files: {
    asMediaUrl: async source => source,
    asFormFile: async path => new FormFile(new Uint8Array(), path, ''),
    saveText: (...given) => context.files.saveText(...given),
    preview: (...given) => context.files.preview(...given),
    recording: file => context.files.recording(file),
    saved: limit => context.files.saved(limit),
    readSaved: address => context.files.readSaved(address),
  },
})

export interface Asked {
  agent: OpenAgent
  signal: AbortSignal
  whenDelivered: NonNullable<Invocation['whenDelivered']>
  called: Invocation['called']
  /** Whether the call waits until the work is done. */
  waits: boolean
  /** The files that it has read so far, in order. */
  files: () => readonly AskedFile[]
}

/** What the user sees when this call needs an approval. */
export const askingOf = ({ called, files }: Asked): ToolAsking => ({ tool: called?.name ?? null, files: files() })
