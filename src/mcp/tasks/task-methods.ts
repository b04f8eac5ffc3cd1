import { ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server'
import type { Question } from '#toolkit/approval.ts'
import { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
import type { Task, TaskStore } from '#toolkit/tool-host.ts'
import type { Desk } from '../call-tool.ts'
import { canAsk, personAnswer } from '../elicitation.ts'
import { inOurWords } from '../our-words.ts'
import { taskIdCharacters } from './bounds.ts'
import { type DetailedTask, detailed } from './task-on-wire.ts'

type Acknowledged = Record<string, unknown>

/** `tasks/get`: how the task stands, with the result of its call once there is one. */
export function getTask(desk: Desk, params: unknown, context: ServerContext): Promise<DetailedTask> {
  return unlessFault(desk, 'tasks/get', context, async () => {
    const { id, signal } = context.mcpReq
    const delivered: (() => void)[] = []
    const task = await look(desk, params, context, run => void delivered.push(run))
    if (!signal.aborted) desk.deliveries.expect(id, delivered)
    signal.addEventListener('abort', () => desk.deliveries.forget(id), { once: true })
    return detailed(desk, task, canAsk(context, undefined))
  })
}

/** `tasks/update`: records what a person answered to the questions that are open; anything else in it is ignored. */
export function updateTask(desk: Desk, params: unknown, context: ServerContext): Promise<Acknowledged> {
  return unlessFault(desk, 'tasks/update', context, async () => {
    const { state } = await look(desk, params, context)
    // A client that can show nobody a question has no person's answer.
    if (state.kind !== 'asks' || !canAsk(context, undefined)) return {}
    const answers = state.questions.map(question => ({ question, answer: answerTo(question, context) }))
    if (!answers.some(({ answer }) => answer)) return {}
    const host = await desk.host()
    for (const { question, answer } of answers) {
      if (answer) await host.answer(question.approvalId, answer).catch(passIfAnswered)
    }
    // With a yes the work goes on at once, not when somebody looks again.
    await look(desk, params, context)
    return {}
  })
}

/** `tasks/cancel`: the acknowledgement is empty by the protocol; what was charged is told by the next `tasks/get`. */
export function cancelTask(desk: Desk, params: unknown, context: ServerContext): Promise<Acknowledged> {
  return unlessFault(desk, 'tasks/cancel', context, async () => {
    await ofTask(desk, params, (tasks, id) => tasks.cancel(id))
    return {}
  })
}

const answerTo = ({ kind, approvalId }: Question, context: ServerContext) => {
  const answer = personAnswer(kind, context, approvalId)
  // Closed without a decision: the question stays open, and the client may put it again.
  return answer === 'closed' ? undefined : answer
}

/** Somebody else may have answered it in the meantime, at a terminal; theirs counts. */
function passIfAnswered(error: unknown): void {
  if (!(error instanceof ToolFailure)) throw error
}

const look = (
  desk: Desk,
  params: unknown,
  { mcpReq: { signal } }: ServerContext,
  whenDelivered: (run: () => void) => void = () => {},
): Promise<Task> => ofTask(desk, params, (tasks, id) => tasks.look(id, { signal, whenDelivered }))

/** What is done with the task that the params name. Throws where there is none. */
async function ofTask<Done extends Task | 'acknowledged'>(
  desk: Desk,
  params: unknown,
  run: (tasks: TaskStore, id: string) => Promise<Done | 'expired' | null>,
): Promise<Done> {
  const id = (params as { taskId?: unknown }).taskId
  if (typeof id !== 'string') throw invalid('taskId has to be the text that the call was answered with')
  const done = id.length > taskIdCharacters ? null : await run(await tasksOf(desk), id)
  if (done === null)
    throw invalid('There is no such task at this server; its wallet and service are the configured ones')
  if (done === 'expired')
    throw invalid('The task has expired; where it has become a job, the tool job_wait may still have its result')
  return done
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

async function tasksOf(desk: Desk): Promise<TaskStore> {
  const { tasks } = await desk.host()
  if (!tasks) throw invalid('This server makes no tasks')
  return tasks
}

const unlessFault = <Result>(
  desk: Desk,
  where: string,
  { mcpReq: { signal } }: ServerContext,
  run: () => Promise<Result>,
): Promise<Result> => inOurWords(desk, { where, signal, untouched: 'The task is as it was.', say: withoutCharge }, run)

/** What was charged is told by the task's result. */
const withoutCharge = ({ happened, next }: FailureFacts): string => `${happened} ${next}`
