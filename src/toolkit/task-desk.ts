import type { AnswerKept, Question } from './person.ts'
import type { ToolOutcome } from './run-tool.ts'
import type { Invocation } from './tool-host.ts'

/** How a call stands that goes on as a job, for a client that looks by itself instead of waiting in one call. */
export type TaskState =
  /** `message` says how far it is, in a few words. */
  | { kind: 'working'; message: string }
  /** Persons have to decide before it goes on; each answer is recorded by `ToolHost.answer`. Nothing is sent meanwhile. */
  | { kind: 'asks'; questions: readonly Question[] }
  /** A person has said no to this question, so nothing was sent. */
  | { kind: 'declined'; approvalId: string; kept: AnswerKept }
  /** What the call would have come to, had its caller waited. */
  | { kind: 'ended'; outcome: ToolOutcome }
  /** Its client gave it up; `message` says what it cost and where its result is nevertheless. */
  | { kind: 'cancelled'; message: string }

export interface Task {
  /** Opaque; 80 bits of it cannot be guessed. The same job of the same tool has the same one. */
  id: string
  createdAtMs: number
  changedAtMs: number
  /** How long after its creation it can be looked at. */
  ttlMs: number
  /** How often that is worth it. */
  pollMs: number
  state: TaskState
}

/** Tasks live in the rows of their jobs, so they outlive the process, and looking at one repeats nothing. */
export interface TaskDesk {
  /** The task of a tool's call whose work goes on as this job; null where it would be over already. */
  begin(tool: string, jobId: string): Promise<Task | null>
  /** Null for an id that is of no job here. An earlier task whose time is over is `expired`. */
  look(id: string, invocation: Pick<Invocation, 'signal' | 'whenDelivered'>): Promise<Task | 'expired' | null>
  /**
   * Gives a task up that has not ended: what was sent goes on at the service, which cannot stop it, and what was not is
   * never sent, also where a person has said yes in the meantime. `expired` and null as of a look.
   */
  cancel(id: string): Promise<'acknowledged' | 'expired' | null>
}
