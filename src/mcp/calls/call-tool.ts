import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type AnswerKept, isYes } from '#toolkit/approval.ts'
import { questionsInARow } from '#toolkit/bounds.ts'
import { type FormValues, isNeeded, type PersonForm, withFilled } from '#toolkit/define.ts'
import { outcomeOf, runTool, type ToolOutcome } from '#toolkit/run-tool.ts'
import { type AskedState, argumentsHash, belongsTo, type McpContext } from '../context.ts'
import { logFault, unlisted } from '../faults.ts'
import { type Listing, onWire } from '../listing.ts'
import { asForm, canAsk, formAnswer, formRequest, personAnswer } from './elicitation.ts'
import { progressOf } from './progress.ts'
import {
  closedResult,
  declinedResult,
  doneResult,
  failedResult,
  faultResult,
  openQuestionResult,
  stoppedResult,
  unfilledResult,
} from './results.ts'
import type { TaskOnWire } from './tasks.ts'

export function serveTools(server: Server, { tools }: Listing, mcp: McpContext): void {
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(onWire) }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    if (!tools.some(tool => tool.name === params.name)) throw unlisted('tool', tools)
    const declared = server.getClientCapabilities()
    const call = { name: params.name, given: params.arguments ?? {}, declared, context }
    // The SDK sends an extension's results as they are, and has no type for them.
    return mcp.calls.track(callTool(mcp, call)) as Promise<CallToolResult>
  })
}

interface ToolCall {
  name: string
  given: unknown
  /** What the client said of itself at its start, in the older protocols. */
  declared: ClientCapabilities | undefined
  context: ServerContext
}

/**
 * Runs a listed tool once. A question to the user ends the call; its answer enters here again, with the state signed
 * then.
 */
async function callTool(mcp: McpContext, call: ToolCall): Promise<CallToolResult | InputRequiredResult | TaskOnWire> {
  const state = call.context.mcpReq.requestState<AskedState>()
  if (state && !belongsTo(state, call.name, call.given)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState belongs to another call')
  }
  const isAwaited = state?.offers === true && (await madeWallet(mcp, call))
  const outcome: CallOutcome =
    (state && (await recordAnswer(mcp, call, state))) ?? (await run(mcp, call, state?.filled))
  switch (outcome.kind) {
    case 'done':
      return (await asTask(mcp, call, outcome)) ?? doneResult(outcome)
    case 'failed': {
      const offered = state?.offers ? null : await offerWallet(mcp, call, outcome)
      if (offered) return offered
      const isStillOpen = isAwaited && outcome.facts.isWithoutWallet
      const facts = isStillOpen ? (await import('./wallet-offer.ts')).stillOpen(outcome.facts) : outcome.facts
      return failedResult(facts, mcp.clock.now())
    }
    case 'declined':
      return declinedResult(outcome.approvalId, outcome.kept, mcp.clock.now())
    case 'closed':
      return closedResult(outcome.approvalId)
    case 'unfilled':
      return unfilledResult
    case 'fills':
      return ask(mcp, call, formRequest(outcome.form), { decides: null, round: 1 })
    case 'asks': {
      const { question, filled } = outcome
      const round = (state?.round ?? 0) + 1
      if (round > questionsInARow || !canAsk(call.context, call.declared))
        return openQuestionResult(question, call.name, mcp.clock.now())
      const { approvalId, kind } = question
      const asked = { decides: { approvalId, kind }, round }
      return ask(mcp, call, asForm(question, mcp.clock.now()), filled ? { ...asked, filled } : asked)
    }
    case 'fault':
      return wasStopped(call, outcome.error)
        ? stoppedResult
        : faultResult(logFault(mcp.log, call.name, outcome.error), mcp.clock.now())
  }
}

/** The question whether the user makes a wallet, where the call failed for the lack of one and the client can ask it. */
async function offerWallet(mcp: McpContext, call: ToolCall, { facts, filled }: Failed) {
  if (!facts.isWithoutWallet) return null
  const { asOffer, canOffer } = await import('./wallet-offer.ts')
  const offer = canOffer(call.context, call.declared) && (await (await mcp.host()).offerWallet?.())
  if (!offer) return null
  const asked = { decides: null, round: 1, offers: true as const, ...(filled ? { filled } : {}) }
  return ask(mcp, call, asOffer(offer, call.context, call.declared), asked)
}

/** Whether the user agreed to make one; then they have had their time for it. */
async function madeWallet(mcp: McpContext, { context }: ToolCall): Promise<boolean> {
  const { waitForWallet } = await import('./wallet-offer.ts')
  const progress = progressOf(context, mcp.clock)
  try {
    return await waitForWallet(await mcp.host(), context, progress.report)
  } finally {
    progress.end()
  }
}

/** The task as which the call goes on, for a client that takes one; null where it has ended or is to be waited for. */
async function asTask(mcp: McpContext, { name, context }: ToolCall, { jobId }: Extract<ToolOutcome, { kind: 'done' }>) {
  if (jobId === undefined || !takesTasks(context)) return null
  const task = await (await mcp.host()).tasks?.begin(name, jobId)
  return task ? (await import('./tasks.ts')).createdTask(task) : null
}

/** The client cancelled or left, which is no fault; a real one stays a fault even then. */
const wasStopped = ({ context: { mcpReq } }: ToolCall, error: unknown): boolean =>
  mcpReq.signal.aborted && (error === mcpReq.signal.reason || (error instanceof Error && error.name === 'AbortError'))

/** Undefined where the call may go on: the user said yes, or the client sent no answer. */
async function recordAnswer(
  mcp: McpContext,
  call: ToolCall,
  { decides }: AskedState,
): Promise<CallOutcome | undefined> {
  if (!decides) return undefined
  const { approvalId, kind } = decides
  const answer = personAnswer(kind, call.context)
  if (!answer) return undefined
  if (answer === 'closed') return { kind: 'closed', approvalId }
  try {
    const kept = await (await mcp.host()).answer(approvalId, answer)
    return isYes(answer) ? undefined : { kind: 'declined', approvalId, kept }
  } catch (error) {
    return outcomeOf(error)
  }
}

type CallOutcome =
  | RunOutcome
  | { kind: 'closed'; approvalId: string }
  | { kind: 'declined'; approvalId: string; kept: AnswerKept }
type RunOutcome =
  | Exclude<ToolOutcome, { kind: 'asks' | 'failed' }>
  | (Asks & { filled?: FormValues })
  | Failed
  | Exclude<Filled, { kind: 'given' }>
type Asks = Extract<ToolOutcome, { kind: 'asks' }>
type Failed = Extract<ToolOutcome, { kind: 'failed' }> & { filled?: FormValues }

async function run(mcp: McpContext, call: ToolCall, before: FormValues | undefined): Promise<RunOutcome> {
  const { name, context } = call
  const progress = progressOf(context, mcp.clock)
  const { id, signal } = context.mcpReq
  const delivered: (() => void)[] = []
  const whenDelivered = (run: () => void) => void delivered.push(run)
  try {
    const tool = await mcp.catalogue.tools[name]?.()
    if (!tool) throw new Error(`The listing has ${name}, the catalogue has not.`)
    const filling = fillIn(tool.personFills, { ...call, before })
    if (filling.kind !== 'given') return filling
    const { given, filled } = filling
    const invocation = { signal, report: progress.report, whenDelivered, called: { name, given } }
    const makeContext = async () => (await mcp.host()).context(invocation)
    const outcome = await runTool(tool, given, makeContext)
    // Of a call that was cancelled nothing is written.
    if (outcome.kind === 'done' && !signal.aborted) mcp.deliveries.expect(id, delivered)
    signal.addEventListener('abort', () => mcp.deliveries.forget(id), { once: true })
    return (outcome.kind === 'asks' || outcome.kind === 'failed') && filled ? { ...outcome, filled } : outcome
  } catch (error) {
    return { kind: 'fault', error }
  } finally {
    progress.end()
  }
}

async function ask(
  mcp: McpContext,
  { name, given, context }: ToolCall,
  inputRequests: Record<string, InputRequest>,
  asked: Omit<AskedState, 'tool' | 'argumentsHash'>,
) {
  const state: AskedState = { tool: name, argumentsHash: argumentsHash(given), ...asked }
  return inputRequired({ inputRequests, requestState: await mcp.states.mint(state, context) })
}

interface Filling {
  given: unknown
  /** What the user filled in at an earlier question of the same call. */
  before: FormValues | undefined
  context: ServerContext
  declared: ClientCapabilities | undefined
}

type Filled =
  | { kind: 'given'; given: unknown; filled?: FormValues }
  | { kind: 'fills'; form: PersonForm }
  | { kind: 'unfilled' }

/**
 * The arguments that a call is run with. What only the user knows is asked from them; the form's answer counts
 * without a signed state too, because it decides nothing that an argument of the client's could not.
 */
function fillIn(form: PersonForm | undefined, { given, before, context, declared }: Filling): Filled {
  if (!form || !isRecord(given)) return { kind: 'given', given }
  const answer = formAnswer(form, context)
  if (answer === 'left') return { kind: 'unfilled' }
  const filled = answer ?? before
  if (filled) return { kind: 'given', given: withFilled(given, form, filled), filled }
  if (!isNeeded(form, given) || !canAsk(context, declared)) return { kind: 'given', given }
  return { kind: 'fills', form }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Extension of the protocol of 2026-07-28, by which a call may be answered with a task that the client looks at. */
const tasksExtension = 'io.modelcontextprotocol/tasks'

/** As server and client declare it. */
export const withTasks = { extensions: { [tasksExtension]: {} } }

/** Whether this very request declares it; what an earlier one declared does not count. */
function takesTasks({ mcpReq }: Pick<ServerContext, 'mcpReq'>): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return said?.extensions?.[tasksExtension] !== undefined
}

/** Throws for a client without it. Older protocols have methods of the same names, which are not served. */
export function requireTasks(context: ServerContext): void {
  if (!context.mcpReq.envelope) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
  if (!takesTasks(context)) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: withTasks })
}

const methods = { 'tasks/get': 'getTask', 'tasks/update': 'updateTask', 'tasks/cancel': 'cancelTask' } as const

/** Answers the extension's requests. What they do is read with the first of a client that declares it. */
export function serveTasks(server: Server, mcp: McpContext): void {
  for (const [method, name] of Object.entries(methods)) {
    server.setRequestHandler(method, { params: anyParams }, (params: unknown, context: ServerContext) => {
      requireTasks(context)
      const answer = import('./tasks.ts').then(
        (does): Promise<Record<string, unknown>> => does[name](mcp, params, context),
      )
      return mcp.calls.track(answer)
    })
  }
}

/** Params are checked once it is known that the client may ask at all. */
const anyParams = {
  '~standard': { version: 1 as const, vendor: 'farebox', validate: (value: unknown) => ({ value }) },
}
