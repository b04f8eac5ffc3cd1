import type { AnswerKept, ApprovalDecision, ApprovalRequest } from './approval.ts'
import type { ToolOutcome } from './run-tool.ts'
import type { MediaBounds, ToolContext } from './tool-context.ts'

/** One call of a tool, as the server describes it. */
export interface Invocation {
  signal: AbortSignal
  report: ToolContext['report']
  /**
   * Runs once the result has been handed to the caller, and never if it was not: until then, what was paid for is kept.
   * Absent if the caller has the result as soon as the effect has run.
   */
  whenDelivered?: (run: () => void) => void
  /**
   * The call itself, so that work which takes too long can become a job that later returns the tool's result. Absent if
   * the caller repeats the call instead.
   */
  called?: CalledTool
  /** The images and audio that the caller shows inline; absent if it reads the files instead. */
  shows?: MediaBounds | undefined
  /** The caller waits as long as the work takes, so the call never becomes a job. */
  waits?: boolean
}

export interface CalledTool {
  name: string
  /** Its arguments as received; JSON. */
  given: unknown
}

/** The parts of an agent that a server needs. Created on the first tool call, never before. */
export interface ToolHost {
  context(invocation: Invocation): ToolContext
  /** Records the user's decision on a request; repeating the same tool call then finds it. */
  answer(approvalId: string, answer: ApprovalDecision): Promise<AnswerKept>
  /** Offers a page where the user creates the wallet that pays, or unlocks one; null if that would not help. */
  offerWallet?(): Promise<WalletOffer | null>
  /** Resolves once the user is done on the latest page, or after `timeoutMs`. Never rejects. */
  walletMade?(timeoutMs: number, signal: AbortSignal): Promise<void>
  /** For clients that poll long work themselves; absent if callers wait or repeat the call instead. */
  tasks?: TaskStore
  /**
   * Returns the host to use now; absent if it never changes. A wallet that is created or unlocked meanwhile brings a new
   * host. `close` closes all of them.
   */
  now?(): Promise<ToolHost>
  close(): Promise<void>
}

/** A local page on which the user creates a wallet. Nothing on it passes through the conversation. */
export interface WalletOffer {
  /** For the user alone: the first browser that opens it gets the page. */
  link: string
  /** The offer to the user, in a few sentences. */
  asks: string
}

/** The state of a call that continues as a job, for a client that polls instead of waiting in one call. */
export type TaskState =
  /** `message` describes the progress in a few words. */
  | { kind: 'working'; message: string }
  /** The user must decide before it continues; `ToolHost.answer` records each decision. Nothing is sent meanwhile. */
  | { kind: 'needs_approval'; requests: readonly ApprovalRequest[] }
  /** The user declined this request, so nothing was sent. */
  | { kind: 'declined'; approvalId: string; kept: AnswerKept }
  /** The result that a waiting caller would have received. */
  | { kind: 'ended'; outcome: ToolOutcome }
  /** The client cancelled it; `message` says what it cost, and where its result is. */
  | { kind: 'cancelled'; message: string }

export interface Task {
  /** Opaque, with 80 random bits. The same job of the same tool has the same id. */
  id: string
  createdAtMs: number
  changedAtMs: number
  /** How long after its creation it can be polled. */
  ttlMs: number
  /** How often to poll. */
  pollMs: number
  state: TaskState
}

/** Tasks are stored in their jobs' rows, so they survive the process. Polling a task repeats no work. */
export interface TaskStore {
  /** Returns the task of a tool's call whose work continues as this job; null if it has already expired. */
  begin(tool: string, jobId: string): Promise<Task | null>
  /** Returns null for an id without a job here, and `expired` for an expired task. */
  look(id: string, invocation: Pick<Invocation, 'signal' | 'whenDelivered' | 'shows'>): Promise<Task | 'expired' | null>
  /**
   * Gives up a task that has not ended. A request that was sent continues at the service, which cannot stop it; a
   * request that was not sent never will be, even if the user has approved it in the meantime. `expired` and null as in
   * `look`.
   */
  cancel(id: string): Promise<'acknowledged' | 'expired' | null>
}
