import { randomUUID } from 'node:crypto'
import type { ApprovalRequest } from '#toolkit/approval.ts'
import type { ToolOutcome } from '#toolkit/run-tool.ts'
import type { Task, TaskState, ToolHost } from '#toolkit/tool-host.ts'

/** A job of the suite's tools: what it asks first, how long it then takes, and its result. */
export interface FixtureJob {
  questions?: readonly ApprovalRequest[]
  lastsMs?: number
  outcome: ToolOutcome
}

interface RunningJob extends FixtureJob {
  beganMs: number
  isCancelled: boolean
}

const jobs = new Map<string, RunningJob>()

export function beginJob({ questions = [], ...job }: FixtureJob): string {
  const id = randomUUID()
  const asked = questions.map(question => ({ ...question, approvalId: `${question.approvalId}_${id}` }))
  jobs.set(id, { ...job, questions: asked, beganMs: Date.now(), isCancelled: false })
  return id
}

function stateOf({ questions = [], lastsMs = 0, ...job }: RunningJob): TaskState {
  if (job.isCancelled) return { kind: 'cancelled', message: 'Cancelled.' }
  if (questions.length > 0) return { kind: 'needs_approval', requests: questions }
  if (Date.now() < job.beganMs + lastsMs) return { kind: 'working', message: 'It is at work.' }
  return { kind: 'ended', outcome: job.outcome }
}

function taskOf(id: string): Task | null {
  const job = jobs.get(id)
  if (!job) return null
  const { beganMs } = job
  return { id, createdAtMs: beganMs, changedAtMs: Date.now(), ttlMs: 600_000, pollMs: 100, state: stateOf(job) }
}

/** Jobs of the suite's tools as tasks, in this process alone. */
export const taskHost: Pick<ToolHost, 'answer' | 'tasks'> = {
  async answer(approvalId) {
    for (const job of jobs.values()) {
      job.questions = (job.questions ?? []).filter(question => question.approvalId !== approvalId)
    }
    return { untilMs: Date.now(), takesBack: `farebox wallet approve ${approvalId}` }
  },
  tasks: {
    begin: async (_tool, jobId) => taskOf(jobId),
    look: async id => taskOf(id),
    async cancel(id) {
      const job = jobs.get(id)
      if (!job) return null
      if (stateOf(job).kind !== 'ended') job.isCancelled = true
      return 'acknowledged'
    },
  },
}
