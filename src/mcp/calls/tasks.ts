import {
  type CallToolResult,
  type InputRequest,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { ApprovalRequest } from '#toolkit/approval.ts'
import type { ToolOutcome } from '#toolkit/run-tool.ts'
import { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
import type { Task, TaskStore } from '#toolkit/tool-host.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import { type ClientMedia, clientName, mediaFor } from '../client/client-media.ts'
import type { McpContext } from '../context.ts'
import { inOurWords, logFault, sayFault } from '../faults.ts'
import { asRequest, canAsk, userAnswer } from './elicitation.ts'
import { declinedResult, doneResult, failedResult, openRequestResult } from './results.ts'

type Acknowledged = Record<string, unknown>

/** `tasks/get`: the state of the task, with the result of its call once there is one. */
export function getTask(mcp: McpContext, params: unknown, context: ServerContext): Promise<DetailedTask> {
  return unlessFault(mcp, 'tasks/get', context, async () => {
    const { id, signal } = context.mcpReq
    const delivered: (() => void)[] = []
    const task = await look(mcp, params, context, run => void delivered.push(run))
    if (!signal.aborted) mcp.deliveries.expect(id, delivered)
    signal.addEventListener('abort', () => mcp.deliveries.forget(id), { once: true })
    return detailed(mcp, task, { canAsk: canAsk(context, undefined), links: mediaOf(context).links })
  })
}

/** `tasks/update`: records the user's answers to the pending requests and ignores everything else. */
export function updateTask(mcp: McpContext, params: unknown, context: ServerContext): Promise<Acknowledged> {
  return unlessFault(mcp, 'tasks/update', context, async () => {
    const { state } = await look(mcp, params, context)
    // A client that cannot show requests cannot have a user's answer.
    if (state.kind !== 'needs_approval' || !canAsk(context, undefined)) return {}
    const answers = state.requests.map(request => ({ request, answer: answerTo(request, context) }))
    if (!answers.some(({ answer }) => answer)) return {}
    const host = await mcp.host()
    for (const { request, answer } of answers) {
      if (answer) await host.answer(request.approvalId, answer).catch(passIfAnswered)
    }
    // After an approval the work continues at once, instead of at the next poll.
    await look(mcp, params, context)
    return {}
  })
}

/** `tasks/cancel`: the protocol's acknowledgement is empty; the next `tasks/get` reports what was charged. */
export function cancelTask(mcp: McpContext, params: unknown, context: ServerContext): Promise<Acknowledged> {
  return unlessFault(mcp, 'tasks/cancel', context, async () => {
    await ofTask(mcp, params, (tasks, id) => tasks.cancel(id))
    return {}
  })
}

const answerTo = ({ kind, approvalId }: ApprovalRequest, context: ServerContext) => {
  const answer = userAnswer(kind, context, approvalId)
  // Dismissed without a decision: the request stays open, and the client may ask again.
  return answer === 'closed' ? undefined : answer
}

/** The user may have answered at a terminal in the meantime; that answer counts. */
function passIfAnswered(error: unknown): void {
  if (!(error instanceof ToolFailure)) throw error
}

const look = (
  mcp: McpContext,
  params: unknown,
  context: ServerContext,
  whenDelivered: (run: () => void) => void = () => {},
): Promise<Task> => {
  const { signal } = context.mcpReq
  const { shows } = mediaOf(context)
  return ofTask(mcp, params, (tasks, id) => tasks.look(id, { signal, whenDelivered, shows }))
}

const mediaOf = (context: ServerContext): ClientMedia => mediaFor(clientName(context, undefined))

/** Runs `work` with the task that the params name. Throws if there is none. */
async function ofTask<Done extends Task | 'acknowledged'>(
  mcp: McpContext,
  params: unknown,
  run: (tasks: TaskStore, id: string) => Promise<Done | 'expired' | null>,
): Promise<Done> {
  const id = (params as { taskId?: unknown }).taskId
  if (typeof id !== 'string') throw invalid('taskId must be the id that the call returned')
  const done = id.length > taskIdCharacters ? null : await run(await tasksOf(mcp), id)
  if (done === null) throw invalid('This server has no task with this id')
  if (done === 'expired')
    throw invalid('The task has expired; if it became a job, job_wait may still return its result')
  return done
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

async function tasksOf(mcp: McpContext): Promise<TaskStore> {
  const { tasks } = await mcp.host()
  if (!tasks) throw invalid('This server does not create tasks')
  return tasks
}

const unlessFault = <Result>(
  mcp: McpContext,
  where: string,
  { mcpReq: { signal } }: ServerContext,
  run: () => Promise<Result>,
): Promise<Result> => inOurWords(mcp, { where, signal, untouched: 'The task is unchanged.', say: withoutCharge }, run)

/** The task's result reports what was charged. */
const withoutCharge = ({ happened, next }: FailureFacts): string => `${happened} ${next}`

/** Members of every state. Times are ISO 8601, durations are whole milliseconds. */
export interface TaskOnWire {
  [member: string]: unknown
  taskId: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: number
  pollIntervalMs: number
}

/** The answer to `tasks/get`. */
export type DetailedTask = TaskOnWire & {
  inputRequests?: Record<string, InputRequest>
  result?: CallToolResult
  error?: { code: number; message: string }
}

/** Answers a call that continues as a task: its current state, without a result. */
export const createdTask = (task: Task): TaskOnWire & { resultType: 'task' } => ({
  resultType: 'task',
  ...onWire(task, 'working', task.state.kind === 'working' ? task.state.message : undefined),
})

/** Returns a complete task. `canAsk` says whether its client can ask the user for an approval. */
export function detailed(
  mcp: McpContext,
  task: Task,
  { canAsk, links }: { canAsk: boolean; links: ClientMedia['links'] },
): DetailedTask {
  const { state } = task
  const nowMs = mcp.clock.now()
  switch (state.kind) {
    case 'working':
      return onWire(task, 'working', state.message)
    case 'cancelled':
      return onWire(task, 'cancelled', state.message)
    case 'declined':
      return { ...onWire(task, 'completed'), result: declinedResult(state.approvalId, state.kept, nowMs) }
    case 'ended':
      return { ...onWire(task, 'completed'), ...ended(mcp, state.outcome, links) }
    case 'needs_approval': {
      const [request] = state.requests
      // This client cannot ask, so the answer says where the user decides; the same call then continues.
      if (!canAsk && request) {
        return { ...onWire(task, 'completed'), result: openRequestResult(request, 'the same tool', nowMs) }
      }
      const inputRequests = Object.fromEntries(
        state.requests.map(request => [request.approvalId, asRequest(request, nowMs)]),
      )
      return { ...onWire(task, 'input_required', 'This needs the user’s approval.'), inputRequests }
    }
  }
}

/** A tool's error is a result; only our own mistakes are protocol errors. */
function ended(
  mcp: McpContext,
  outcome: ToolOutcome,
  links: ClientMedia['links'],
): Pick<DetailedTask, 'result' | 'error'> & { status?: 'failed' } {
  switch (outcome.kind) {
    case 'done':
      return { result: doneResult(outcome, links) }
    case 'failed':
      return { result: failedResult(outcome.facts, mcp.clock.now()) }
    case 'needs_approval':
      return { result: openRequestResult(outcome.request, 'the same tool', mcp.clock.now()) }
    case 'fault': {
      const reference = logFault(mcp.log, 'task', outcome.error)
      const message = sayFault(reference)
      return { status: 'failed', error: { code: ProtocolErrorCode.InternalError, message } }
    }
  }
}

const onWire = (task: Task, status: TaskOnWire['status'], message?: string): TaskOnWire => ({
  taskId: task.id,
  status,
  ...(message === undefined ? {} : { statusMessage: oneLine(message, statusCharacters) }),
  createdAt: new Date(task.createdAtMs).toISOString(),
  lastUpdatedAt: new Date(task.changedAtMs).toISOString(),
  ttlMs: task.ttlMs,
  pollIntervalMs: task.pollMs,
})

/** Longest task id that is looked up; ours are a tool's name and a job's id. */
export const taskIdCharacters = 128

/** Longest text of a task's state; assistants show one line. */
export const statusCharacters = 400
