import { type CallToolResult, type InputRequest, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { ToolOutcome } from '#toolkit/run-tool.ts'
import type { Task } from '#toolkit/tool-host.ts'
import { oneLine } from '#toolkit/values/untrusted.ts'
import type { Desk } from '../call-tool.ts'
import { asRequest } from '../elicitation.ts'
import { logFault } from '../fault-log.ts'
import { sayFault } from '../our-words.ts'
import { declinedResult, doneResult, failedResult, openQuestionResult } from '../tool-results.ts'
import { statusCharacters } from './bounds.ts'

/** Members that every state has. Times are ISO 8601, durations whole milliseconds. */
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

/** What `tasks/get` answers. */
export type DetailedTask = TaskOnWire & {
  inputRequests?: Record<string, InputRequest>
  result?: CallToolResult
  error?: { code: number; message: string }
}

/** The answer to a call that goes on as a task: how it stands now, without a result. */
export const createdTask = (task: Task): TaskOnWire & { resultType: 'task' } => ({
  resultType: 'task',
  ...onWire(task, 'working', task.state.kind === 'working' ? task.state.message : undefined),
})

/** A task whole. `canAsk`: whether its client can put a question to a person. */
export function detailed(desk: Desk, task: Task, canAsk: boolean): DetailedTask {
  const { state } = task
  const nowMs = desk.clock.now()
  switch (state.kind) {
    case 'working':
      return onWire(task, 'working', state.message)
    case 'cancelled':
      return onWire(task, 'cancelled', state.message)
    case 'declined':
      return { ...onWire(task, 'completed'), result: declinedResult(state.approvalId, state.kept, nowMs) }
    case 'ended':
      return { ...onWire(task, 'completed'), ...ended(desk, state.outcome) }
    case 'asks': {
      const [question] = state.questions
      // Nobody can be asked from there, so the answer says where a person decides; the same call goes on afterwards.
      if (!canAsk && question) {
        return { ...onWire(task, 'completed'), result: openQuestionResult(question, 'the same tool', nowMs) }
      }
      const inputRequests = Object.fromEntries(
        state.questions.map(question => [question.approvalId, asRequest(question, nowMs)]),
      )
      return { ...onWire(task, 'input_required', 'A person has to decide before this goes on.'), inputRequests }
    }
  }
}

/** An error of a tool is a result; only a mistake of ours is an error of the protocol. */
function ended(desk: Desk, outcome: ToolOutcome): Pick<DetailedTask, 'result' | 'error'> & { status?: 'failed' } {
  switch (outcome.kind) {
    case 'done':
      return { result: doneResult(outcome) }
    case 'failed':
      return { result: failedResult(outcome.facts, desk.clock.now()) }
    case 'asks':
      return { result: openQuestionResult(outcome.question, 'the same tool', desk.clock.now()) }
    case 'fault': {
      const reference = logFault(desk.log, 'task', outcome.error)
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
