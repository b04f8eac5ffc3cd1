import { unreachable } from '#host/network.ts'
import { codeOf } from '../http/upstream-error.ts'
import type { EngineState, JobProgress } from '../ports/media-engines.ts'

/** Thrown by `send` if the engine has certainly not accepted the job, so that it may be sent again. */
export class NotTaken extends Error {
  constructor(cause?: unknown) {
    super('The engine did not accept the job.', { cause })
    this.name = 'NotTaken'
  }
}

/**
 * Sends a paid job to an engine once. The job's row records the sending beforehand, so a process that finds this record
 * after a crash knows that the outcome is unknown. If the engine recognizes a job by its key, the job is sent again.
 * Any other engine might make and bill a second one, so the job fails and its caller is refunded.
 */
export class OnceSent {
  readonly #knowsAgain: boolean
  /** Jobs that this process has recorded as sending but not yet sent. */
  readonly #announced = new Set<string>()

  constructor({ knowsAgain }: { knowsAgain: boolean }) {
    this.#knowsAgain = knowsAgain
  }

  begin(): JobProgress {
    return { state: 'running', engineState: { phase: 'ready' } }
  }

  /** Whether the job has not been sent, so that there is nothing to poll. */
  isPending({ phase }: EngineState): boolean {
    return phase === 'ready' || phase === 'sending'
  }

  /** `send` returns the state with which the job is found again. */
  async step(jobId: string, { phase }: EngineState, send: () => Promise<JobProgress>): Promise<JobProgress> {
    if (phase === 'ready') {
      this.#announced.add(jobId)
      return { state: 'running', engineState: { phase: 'sending' } }
    }
    const isFirst = this.#announced.delete(jobId)
    if (!isFirst && !this.#knowsAgain) return unknownOutcome
    try {
      return await send()
    } catch (error) {
      if (error instanceof NotTaken) return notTaken(error)
      if (this.#knowsAgain) throw error
      return unknownOutcome
    }
  }
}

/** Whether the engine has not accepted the job after all: only then is the job back at its beginning. */
export const wasNotTaken = (progress: JobProgress): boolean =>
  progress.state === 'running' && progress.engineState.phase === 'ready'

/** Whether that was because no connection could be made. */
export const wasAway = (progress: JobProgress): boolean =>
  wasNotTaken(progress) && progress.state === 'running' && progress.engineState.isAway === true

/** Whether the engine itself reported the progress. A job that is still to be sent has not reached an engine. */
export const isFromEngine = (progress: JobProgress): boolean =>
  progress.state !== 'running' || progress.engineState.phase === undefined

const notTaken = ({ cause }: NotTaken): JobProgress => ({
  state: 'running',
  engineState: { phase: 'ready', ...(unreachable.has(codeOf(cause)) ? { isAway: true } : {}) },
})

const unknownOutcome: JobProgress = {
  state: 'failed',
  reason: 'It is unknown whether the engine accepted this video, so it was not submitted again.',
}
