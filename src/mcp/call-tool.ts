import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Clock } from '#contract/time.ts'
import { type AnswerKept, isYes } from '#toolkit/approval.ts'
import { questionsInARow } from '#toolkit/bounds.ts'
import type { Catalogue, FormValues } from '#toolkit/define.ts'
import { outcomeOf, runTool, type ToolOutcome } from '#toolkit/run-tool.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { type AskedState, argumentsHash, belongsTo } from './asked-state.ts'
import type { CallsInFlight } from './calls-in-flight.ts'
import type { KnownChoices } from './choices.ts'
import type { Deliveries } from './deliveries.ts'
import { asForm, canAsk, formRequest, personAnswer } from './elicitation.ts'
import { type LogLine, logFault } from './fault-log.ts'
import { type Filled, fillIn } from './fill-in.ts'
import { progressOf } from './progress.ts'
import { takesTasks } from './tasks/extension.ts'
import type { TaskOnWire } from './tasks/task-on-wire.ts'
import {
  closedResult,
  declinedResult,
  doneResult,
  failedResult,
  faultResult,
  openQuestionResult,
  stoppedResult,
  unfilledResult,
} from './tool-results.ts'

/** What the calls of one server share. */
export interface Desk {
  catalogue: Catalogue
  /** Makes the host at the first call that needs it; the same one afterwards. */
  host(): Promise<ToolHost>
  states: RequestStateCodec<AskedState>
  choices: KnownChoices
  calls: CallsInFlight
  deliveries: Pick<Deliveries, 'expect' | 'forget'>
  clock: Clock
  log: LogLine
}

export interface ToolCall {
  name: string
  given: unknown
  /** What the client said of itself at its start, in the older protocols. */
  declared: ClientCapabilities | undefined
  context: ServerContext
}

/** Runs a listed tool once. A question to a person ends the call; its answer enters here again, with the state signed then. */
export async function callTool(desk: Desk, call: ToolCall): Promise<CallToolResult | InputRequiredResult | TaskOnWire> {
  const state = call.context.mcpReq.requestState<AskedState>()
  if (state && !belongsTo(state, call.name, call.given)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState belongs to another call')
  }
  const outcome: CallOutcome =
    (state && (await recordAnswer(desk, call, state))) ?? (await run(desk, call, state?.filled))
  switch (outcome.kind) {
    case 'done':
      return (await asTask(desk, call, outcome)) ?? doneResult(outcome)
    case 'failed':
      return failedResult(outcome.facts, desk.clock.now())
    case 'declined':
      return declinedResult(outcome.approvalId, outcome.kept, desk.clock.now())
    case 'closed':
      return closedResult(outcome.approvalId)
    case 'unfilled':
      return unfilledResult
    case 'fills':
      return ask(desk, call, formRequest(outcome.form), { decides: null, round: 1 })
    case 'asks': {
      const { question, filled } = outcome
      const round = (state?.round ?? 0) + 1
      if (round > questionsInARow || !canAsk(call.context, call.declared))
        return openQuestionResult(question, call.name, desk.clock.now())
      const { approvalId, kind } = question
      const asked = { decides: { approvalId, kind }, round }
      return ask(desk, call, asForm(question, desk.clock.now()), filled ? { ...asked, filled } : asked)
    }
    case 'fault':
      return wasStopped(call, outcome.error)
        ? stoppedResult
        : faultResult(logFault(desk.log, call.name, outcome.error), desk.clock.now())
  }
}

/** The task as which the call goes on, for a client that takes one; null where it has ended or is to be waited for. */
async function asTask(desk: Desk, { name, context }: ToolCall, { jobId }: Extract<ToolOutcome, { kind: 'done' }>) {
  if (jobId === undefined || !takesTasks(context)) return null
  const task = await (await desk.host()).tasks?.begin(name, jobId)
  return task ? (await import('./tasks/task-on-wire.ts')).createdTask(task) : null
}

/** The client cancelled or left, which is no fault; a real one stays a fault even then. */
const wasStopped = ({ context: { mcpReq } }: ToolCall, error: unknown): boolean =>
  mcpReq.signal.aborted && (error === mcpReq.signal.reason || (error instanceof Error && error.name === 'AbortError'))

/** Undefined where the call may go on: the person said yes, or the client sent no answer. */
async function recordAnswer(desk: Desk, call: ToolCall, { decides }: AskedState): Promise<CallOutcome | undefined> {
  if (!decides) return undefined
  const { approvalId, kind } = decides
  const answer = personAnswer(kind, call.context)
  if (!answer) return undefined
  if (answer === 'closed') return { kind: 'closed', approvalId }
  try {
    const kept = await (await desk.host()).answer(approvalId, answer)
    return isYes(answer) ? undefined : { kind: 'declined', approvalId, kept }
  } catch (error) {
    return outcomeOf(error)
  }
}

type CallOutcome =
  | RunOutcome
  | { kind: 'closed'; approvalId: string }
  | { kind: 'declined'; approvalId: string; kept: AnswerKept }
type RunOutcome = Exclude<ToolOutcome, Asks> | (Asks & { filled?: FormValues }) | Exclude<Filled, { kind: 'given' }>
type Asks = Extract<ToolOutcome, { kind: 'asks' }>

async function run(desk: Desk, call: ToolCall, before: FormValues | undefined): Promise<RunOutcome> {
  const { name, context } = call
  const progress = progressOf(context, desk.clock)
  const { id, signal } = context.mcpReq
  const delivered: (() => void)[] = []
  const whenDelivered = (run: () => void) => void delivered.push(run)
  try {
    const tool = await desk.catalogue.tools[name]?.()
    if (!tool) throw new Error(`The listing has ${name}, the catalogue has not.`)
    const filling = fillIn(tool.personFills, { ...call, before })
    if (filling.kind !== 'given') return filling
    const { given, filled } = filling
    const invocation = { signal, report: progress.report, whenDelivered, called: { name, given } }
    const makeContext = async () => (await desk.host()).context(invocation)
    const outcome = await runTool(tool, given, makeContext)
    // Of a call that was cancelled nothing is written.
    if (outcome.kind === 'done' && !signal.aborted) desk.deliveries.expect(id, delivered)
    signal.addEventListener('abort', () => desk.deliveries.forget(id), { once: true })
    return outcome.kind === 'asks' && filled ? { ...outcome, filled } : outcome
  } catch (error) {
    return { kind: 'fault', error }
  } finally {
    progress.end()
  }
}

async function ask(
  desk: Desk,
  { name, given, context }: ToolCall,
  inputRequests: Record<string, InputRequest>,
  asked: Omit<AskedState, 'tool' | 'argumentsHash'>,
) {
  const state: AskedState = { tool: name, argumentsHash: argumentsHash(given), ...asked }
  return inputRequired({ inputRequests, requestState: await desk.states.mint(state, context) })
}
