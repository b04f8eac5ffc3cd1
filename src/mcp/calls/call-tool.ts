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
import { isObject } from '#contract/wire/json.ts'
import { type AnswerKept, isApproved } from '#toolkit/approval.ts'
import { approvalsInARow } from '#toolkit/bounds.ts'
import { type FormValues, isNeeded, type UserForm, withFilled } from '#toolkit/define.ts'
import { outcomeOf, runTool, type ToolOutcome } from '#toolkit/run-tool.ts'
import { type ClientMedia, clientName, isTooSoon, mediaFor } from '../client/client-media.ts'
import { type AskedState, argumentsHash, belongsTo, type McpContext } from '../context.ts'
import { logFault, unlisted } from '../faults.ts'
import { type Listing, onWire } from '../listing.ts'
import { asForm, canAsk, formAnswer, formRequest, userAnswer } from './elicitation.ts'
import {
  closedResult,
  declinedResult,
  doneResult,
  failedResult,
  faultResult,
  openRequestResult,
  stoppedResult,
  unfilledResult,
} from './results.ts'
import type { TaskOnWire } from './tasks.ts'

export function serveTools(server: Server, { tools }: Listing, mcp: McpContext): void {
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(onWire) }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    if (!tools.some(tool => tool.name === params.name)) throw unlisted('tool', params.name, tools)
    const declared = server.getClientCapabilities()
    const client = clientName(context, server.getClientVersion())
    const media = mediaFor(client, server.getNegotiatedProtocolVersion())
    const call = { name: params.name, given: params.arguments ?? {}, client, declared, media, context }
    // The SDK sends an extension's results unchanged but has no type for them.
    return mcp.calls.track(callTool(mcp, call)) as Promise<CallToolResult>
  })
}

interface ToolCall {
  name: string
  given: unknown
  /** The client's own name, in lower case. */
  client: string
  /** The capabilities that the client declared when it connected, in older protocols. */
  declared: ClientCapabilities | undefined
  media: ClientMedia
  context: ServerContext
}

/**
 * Runs a listed tool once. A request to the user ends the call; the user's answer arrives here as a new call, with the
 * state that was signed then.
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
      return (await asTask(mcp, call, outcome)) ?? doneResult(outcome, call.media.links)
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
    case 'needs_approval': {
      const { request, filled } = outcome
      const { approvalId, kind } = request
      const round = (state?.round ?? 0) + 1
      if (round > approvalsInARow || !canAsk(call.context, call.declared) || isUnanswered(mcp, approvalId))
        return openRequestResult(request, call.name, mcp.clock.now())
      mcp.forms.noteSent(approvalId, mcp.clock.now())
      const asked = { decides: { approvalId, kind }, round }
      return ask(mcp, call, asForm(request, mcp.clock.now()), filled ? { ...asked, filled } : asked)
    }
    case 'fault':
      return wasStopped(call, outcome.error)
        ? stoppedResult
        : faultResult(logFault(mcp.log, call.name, outcome.error), mcp.clock.now())
  }
}

/**
 * Returns the request that offers to make a wallet, if the call failed because there is no wallet and the client can
 * ask the user.
 */
async function offerWallet(mcp: McpContext, call: ToolCall, { facts, filled }: Failed) {
  if (!facts.isWithoutWallet || isUnanswered(mcp, walletOffer(call))) return null
  const { asOffer, canOffer } = await import('./wallet-offer.ts')
  const offer = canOffer(call.context, call.declared) && (await (await mcp.host()).offerWallet?.())
  if (!offer) return null
  mcp.forms.noteSent(walletOffer(call), mcp.clock.now())
  const asked = { decides: null, round: 1, offers: true as const, ...(filled ? { filled } : {}) }
  return ask(mcp, call, asOffer(offer, call.context, call.declared), asked)
}

const isUnanswered = ({ forms, clock }: McpContext, form: string): boolean => forms.isUnanswered(form, clock.now())

/** The offer is the same for every call, so it is one form for each client. */
const walletOffer = ({ client }: ToolCall): string => `wallet for ${client}`

/** Returns whether the user agreed to make a wallet, after giving them time to do so. */
async function madeWallet(mcp: McpContext, call: ToolCall): Promise<boolean> {
  const { context } = call
  mcp.forms.noteAnswered(walletOffer(call))
  const { waitForWallet } = await import('./wallet-offer.ts')
  const progress = mcp.progress.of(context)
  try {
    return await waitForWallet(await mcp.host(), context, progress.report)
  } finally {
    progress.end()
  }
}

/**
 * Returns the task in which the call continues, for a client that accepts tasks; null if the call has ended or should
 * be waited for.
 */
async function asTask(mcp: McpContext, { name, context }: ToolCall, { jobId }: Extract<ToolOutcome, { kind: 'done' }>) {
  if (jobId === undefined || !takesTasks(context)) return null
  const task = await (await mcp.host()).tasks?.begin(name, jobId)
  return task ? (await import('./tasks.ts')).createdTask(task) : null
}

/** A client that cancels or leaves is not a fault, but a real fault is reported even then. */
const wasStopped = ({ context: { mcpReq } }: ToolCall, error: unknown): boolean =>
  mcpReq.signal.aborted && (error === mcpReq.signal.reason || (error instanceof Error && error.name === 'AbortError'))

/**
 * Undefined if the call may continue: the user approved, or the client sent no answer. A refusal that came too soon is
 * none of the user's, so the call continues, and its result then says where the user decides.
 */
async function recordAnswer(
  mcp: McpContext,
  call: ToolCall,
  { decides, askedAtMs }: AskedState,
): Promise<CallOutcome | undefined> {
  if (!decides) return undefined
  const { approvalId, kind } = decides
  const answer = userAnswer(kind, call.context)
  if (!answer) return undefined
  if ((answer === 'closed' || !isApproved(answer)) && isTooSoon(askedAtMs, mcp.clock.now())) {
    mcp.forms.noteUnseen(approvalId)
    return undefined
  }
  mcp.forms.noteAnswered(approvalId)
  if (answer === 'closed') return { kind: 'closed', approvalId }
  try {
    const kept = await (await mcp.host()).answer(approvalId, answer)
    return isApproved(answer) ? undefined : { kind: 'declined', approvalId, kept }
  } catch (error) {
    return outcomeOf(error)
  }
}

type CallOutcome =
  | RunOutcome
  | { kind: 'closed'; approvalId: string }
  | { kind: 'declined'; approvalId: string; kept: AnswerKept }
type RunOutcome =
  | Exclude<ToolOutcome, { kind: 'needs_approval' | 'failed' }>
  | (Asks & { filled?: FormValues })
  | Failed
  | Exclude<Filled, { kind: 'given' }>
type Asks = Extract<ToolOutcome, { kind: 'needs_approval' }>
type Failed = Extract<ToolOutcome, { kind: 'failed' }> & { filled?: FormValues }

async function run(mcp: McpContext, call: ToolCall, before: FormValues | undefined): Promise<RunOutcome> {
  const { name, context } = call
  const progress = mcp.progress.of(context)
  const { id, signal } = context.mcpReq
  const delivered: (() => void)[] = []
  const whenDelivered = (run: () => void) => void delivered.push(run)
  try {
    const tool = await mcp.catalogue.tools[name]?.()
    if (!tool) throw new Error(`The listing has ${name}, but the catalogue does not.`)
    const filling = fillIn(tool.userFills, { ...call, before })
    if (filling.kind !== 'given') return filling
    const { given, filled } = filling
    const invocation = {
      signal,
      report: progress.report,
      whenDelivered,
      called: { name, given },
      shows: call.media.shows,
    }
    const makeContext = async () => (await mcp.host()).context(invocation)
    const outcome = await runTool(tool, given, makeContext)
    // Nothing is written for a cancelled call.
    if (outcome.kind === 'done' && !signal.aborted) mcp.deliveries.expect(id, delivered)
    signal.addEventListener('abort', () => mcp.deliveries.forget(id), { once: true })
    return (outcome.kind === 'needs_approval' || outcome.kind === 'failed') && filled ? { ...outcome, filled } : outcome
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
  asked: Omit<AskedState, 'tool' | 'argumentsHash' | 'askedAtMs'>,
) {
  const state: AskedState = { tool: name, argumentsHash: argumentsHash(given), askedAtMs: mcp.clock.now(), ...asked }
  mcp.deliveries.expect(context.mcpReq.id, [mcp.progress.whileAsking(context)])
  return inputRequired({ inputRequests, requestState: await mcp.states.mint(state, context) })
}

interface Filling {
  given: unknown
  /** What the user filled in earlier in this call. */
  before: FormValues | undefined
  context: ServerContext
  declared: ClientCapabilities | undefined
}

type Filled =
  | { kind: 'given'; given: unknown; filled?: FormValues }
  | { kind: 'fills'; form: UserForm }
  | { kind: 'unfilled' }

/**
 * Returns the arguments to run a call with. A form asks the user for what only they know. Its answer counts even
 * without a signed state, because it decides nothing that the client could not have passed as an argument.
 */
function fillIn(form: UserForm | undefined, { given, before, context, declared }: Filling): Filled {
  if (!form || !isObject(given)) return { kind: 'given', given }
  const answer = formAnswer(form, context)
  if (answer === 'left') return { kind: 'unfilled' }
  const filled = answer ?? before
  if (filled) return { kind: 'given', given: withFilled(given, form, filled), filled }
  if (!isNeeded(form, given) || !canAsk(context, declared)) return { kind: 'given', given }
  return { kind: 'fills', form }
}

/** The extension of protocol 2026-07-28 that lets a call return a task for the client to poll. */
const tasksExtension = 'io.modelcontextprotocol/tasks'

/** The capability as server and client declare it. */
export const withTasks = { extensions: { [tasksExtension]: {} } }

/** Whether this request declares the extension; earlier requests don't count. */
function takesTasks({ mcpReq }: Pick<ServerContext, 'mcpReq'>): boolean {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const said = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return said?.extensions?.[tasksExtension] !== undefined
}

/**
 * Throws for a client without the extension. Older protocols have methods with the same names, which are not served.
 */
export function requireTasks(context: ServerContext): void {
  if (!context.mcpReq.envelope) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
  if (!takesTasks(context)) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: withTasks })
}

const methods = { 'tasks/get': 'getTask', 'tasks/update': 'updateTask', 'tasks/cancel': 'cancelTask' } as const

/** Handles the extension's requests. Their code is loaded with the first request of a client that declares it. */
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

/** Params are validated only after the client is known to be allowed to ask. */
const anyParams = {
  '~standard': { version: 1 as const, vendor: 'farebox', validate: (value: unknown) => ({ value }) },
}
