import { displayUsd, zeroUsd } from '#contract/money.ts'
import { questionsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { outcomeOf } from '#toolkit/run-tool.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation, Task, TaskState, TaskStore } from '#toolkit/tool-host.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'
import type { AgentDesks } from '../agent-desks.ts'
import { pollMs, taskTtlMs } from '../bounds.ts'
import { isQueued, type JobRow } from '../jobs/job-rows.ts'
import { answerKept } from '../words/answer-kept.ts'
import { placeOf } from '../words/as-typed.ts'
import { personFor } from '../words/person-for.ts'
import { typedQuestion } from '../words/typed-words.ts'
import { catalogue } from './catalogue.ts'
import { readTaskId, taskId } from './task-id.ts'
import { taskOutcome } from './task-outcome.ts'

type Looking = Pick<Invocation, 'signal' | 'whenDelivered'>

/** Jobs as clients of MCP follow them by themselves. All that is known of a task stands in the row of its job. */
export class Tasks implements TaskStore {
  readonly #desks: AgentDesks

  constructor(desks: AgentDesks) {
    this.#desks = desks
  }

  async begin(tool: string, jobId: string): Promise<Task | null> {
    const found = this.#find(taskId(tool, jobId))
    if (!found || this.#isOver(found.job)) return null
    this.#desks.jobRows.wanted(jobId)
    return this.#task(found.id, found.job, this.#working(found.job))
  }

  async look(id: string, looking: Looking): Promise<Task | 'expired' | null> {
    const found = await this.#known(id)
    if (found === null || found === 'expired') return found
    const state = await this.#state(found.tool, found.job, looking)
    // What was asked for may have changed the row.
    return this.#task(id, this.#desks.jobRows.find(found.job.jobId) ?? found.job, state)
  }

  async cancel(id: string): Promise<'acknowledged' | 'expired' | null> {
    const found = await this.#known(id)
    if (found === null || found === 'expired') return found
    this.#desks.jobRows.cancelled(found.job.jobId)
    return 'acknowledged'
  }

  /** The tool and the job of a task that can still be looked at. Asks nobody and begins nothing. */
  async #known(id: string): Promise<{ tool: Tool; job: JobRow } | 'expired' | null> {
    const found = this.#find(id)
    const tool = found && (await catalogue.tools[found.tool]?.())
    // A tool that begins no jobs has none of a service's queue.
    if (!found || !tool || (isQueued(found.job) && !tool.goesOnAs)) return null
    return this.#isOver(found.job) ? 'expired' : { tool, job: found.job }
  }

  /** A job that this wallet started at this service; of another one's tasks nothing is told. */
  #find(id: string): { id: string; tool: string; job: JobRow } | null {
    const { core, jobRows } = this.#desks
    const named = readTaskId(id)
    if (!named || !Object.hasOwn(catalogue.tools, named.tool)) return null
    const job = jobRows.find(named.jobId)
    return job?.service === core.client.address.baseUrl ? { id, tool: named.tool, job } : null
  }

  #isOver({ startedAtMs }: JobRow): boolean {
    return this.#desks.core.clock.now() >= startedAtMs + taskTtlMs
  }

  #task(id: string, { startedAtMs, changedAtMs, cancelledAtMs }: JobRow, state: TaskState): Task {
    const endedAtMs = state.kind === 'working' ? null : (cancelledAtMs ?? changedAtMs)
    return {
      ...{ id, state, ttlMs: taskTtlMs, pollMs: pollMs.most },
      createdAtMs: startedAtMs,
      changedAtMs: endedAtMs ?? this.#desks.core.clock.now(),
    }
  }

  async #state(tool: Tool, job: JobRow, looking: Looking): Promise<TaskState> {
    if (job.cancelledAtMs !== null) return { kind: 'cancelled', message: sayGivenUp(job) }
    if (job.asks !== null) return this.#asked(job, job.asks)
    if (job.state === 'running') return this.#working(job)
    return { kind: 'ended', outcome: await taskOutcome(this.#desks, tool, job, looking) }
  }

  #working(job: JobRow): TaskState {
    const { clock } = this.#desks.core
    const heard = this.#desks.followed.follow(job)
    const message = heard ?? `${untrustedId(job.model)}: ${Math.round((clock.now() - job.startedAtMs) / 1_000)} s`
    return { kind: 'working', message: job.priceMicroUsd === null ? message : `${message}. ${sayCharged(job)}` }
  }

  /** A call that was not made, because a person had to decide first. */
  async #asked(job: JobRow, approvalId: string): Promise<TaskState> {
    const { core } = this.#desks
    const { approvals } = core
    const approval = await approvals.get(approvalId)
    if (approval?.state === 'denied') return { kind: 'declined', approvalId, kept: answerKept(approval, core) }
    if (job.timesAsked > questionsInARow) return unanswered(job.failure ?? nobodyAnswered)
    if (approval?.state === 'approved') {
      this.#desks.callJobs.goOn(job)
      return this.#working(this.#desks.jobRows.find(job.jobId) ?? job)
    }
    if (approval?.state !== 'pending') return unanswered(nobodyAnswered)
    const { question } = personFor(approvals.asQuestion(approval))
    return { kind: 'asks', questions: [typedQuestion(question, placeOf(core))] }
  }
}

const nobodyAnswered = 'A person was asked, and nobody answered in time.'

const unanswered = (happened: string): TaskState => ({
  kind: 'ended',
  outcome: outcomeOf(new ToolFailure({ happened, charged: zeroUsd, next: 'The same call asks again.' })),
})

const sayCharged = ({ priceMicroUsd }: JobRow): string =>
  priceMicroUsd === null ? 'What it is charged is not known yet.' : `Charged ${displayUsd(priceMicroUsd)}.`

const sayGivenUp = (job: JobRow): string =>
  job.asks !== null
    ? 'Given up before anything was sent or charged.'
    : `Given up. A service cannot stop what it has begun, so it may go on there. ${sayCharged(job)} Call job_wait with ${job.jobId} for its result.`
