import type { AnswerKept, PersonAnswer, Question } from './approval.ts'
import type { ToolOutcome } from './run-tool.ts'
import type { ToolContext } from './tool-context.ts'

/** One call of a tool, as its frame tells it. */
export interface Invocation {
  signal: AbortSignal
  report: ToolContext['report']
  /**
   * Runs once the result has been handed to the caller, and never where it was not: what was paid for is kept until then.
   * Absent where the caller has it as soon as the effect has run.
   */
  whenDelivered?: (run: () => void) => void
  /**
   * What was called, so that work which takes too long can become a job that gives the tool's result later. Absent where
   * the caller makes the same call again instead.
   */
  called?: CalledTool
  /** The caller waits for as long as the work takes: it becomes no job. */
  waits?: boolean
}

export interface CalledTool {
  /** The tool's name. */
  name: string
  /** Its arguments as they came; JSON. */
  given: unknown
}

/** What a server needs from the owner of the wallet and the client. Made on the first tool call, never before. */
export interface ToolHost {
  context(invocation: Invocation): ToolContext
  /** Records the user's answer to a question; the same tool call, made again, then finds it. */
  answer(approvalId: string, answer: PersonAnswer): Promise<AnswerKept>
  /** Where the user makes the wallet that pays, or opens one that is locked; null where that helps nothing. */
  offerWallet?(): Promise<WalletOffer | null>
  /** Resolves once the user is done on the page that was offered last, or after `timeoutMs`. Never rejects. */
  walletMade?(timeoutMs: number, signal: AbortSignal): Promise<void>
  /** For clients that follow long work by themselves; absent where calls are waited for or repeated instead. */
  tasks?: TaskStore
  /** The same as it is now, where it may change while its frame runs; its owner closes both. */
  now?(): Promise<ToolHost>
  close(): Promise<void>
}

/** A page of this machine on which the user makes a wallet. Nothing of it passes through the conversation. */
export interface WalletOffer {
  /** For the user alone: the first browser that opens it gets the page. */
  link: string
  /** What the user is asked, in a few sentences. */
  asks: string
}

/** How a call stands that goes on as a job, for a client that looks by itself instead of waiting in one call. */
export type TaskState =
  /** `message` says how far it is, in a few words. */
  | { kind: 'working'; message: string }
  /** Persons have to decide before it goes on; each answer is recorded by `ToolHost.answer`. Nothing is sent meanwhile. */
  | { kind: 'asks'; questions: readonly Question[] }
  /** The user has said no to this question, so nothing was sent. */
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
export interface TaskStore {
  /** The task of a tool's call whose work goes on as this job; null where it would be over already. */
  begin(tool: string, jobId: string): Promise<Task | null>
  /** Null for an id that is of no job here. An earlier task whose time is over is `expired`. */
  look(id: string, invocation: Pick<Invocation, 'signal' | 'whenDelivered'>): Promise<Task | 'expired' | null>
  /**
   * Gives a task up that has not ended: what was sent goes on at the service, which cannot stop it, and what was not is
   * never sent, also where the user has said yes in the meantime. `expired` and null as of a look.
   */
  cancel(id: string): Promise<'acknowledged' | 'expired' | null>
}
