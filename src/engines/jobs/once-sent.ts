import { unreachable } from '#host/network.ts'
import { codeOf } from '../http/upstream-error.ts'
import type { EngineState, JobProgress } from '../ports/media-engines.ts'

/** Thrown by `send` where the engine has certainly not taken the job, so that it may be sent again. */
export class NotTaken extends Error {
  constructor(cause?: unknown) {
    super('The engine did not accept the job.', { cause })
    this.name = 'NotTaken'
  }
}

/**
 * Hands a paid job to an engine once. That it is about to be sent is written to the job's row before it is, so that a
 * process that finds that word after a crash knows that nobody knows. Where the engine knows a job again by its key it
 * is asked again; any other might make, and bill, a second one, so the job fails there and its caller gets the charge
 * back.
 */
export class OnceSent {
  readonly #knowsAgain: boolean
  /** Jobs that this process has announced and not yet sent. */
  readonly #announced = new Set<string>()

  constructor({ knowsAgain }: { knowsAgain: boolean }) {
    this.#knowsAgain = knowsAgain
  }

  begin(): JobProgress {
    return { state: 'running', engineState: { phase: 'ready' } }
  }

  /** Whether there is nothing to ask after yet. */
  isPending({ phase }: EngineState): boolean {
    return phase === 'ready' || phase === 'sending'
  }

  /** `send` answers with the state that finds the job again. */
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

/** Whether a question after a job says that the engine did not take it: only then it is as it was at its beginning. */
export const wasNotTaken = (progress: JobProgress): boolean =>
  progress.state === 'running' && progress.engineState.phase === 'ready'

/** Whether it did not because no connection came about. */
export const wasAway = (progress: JobProgress): boolean =>
  wasNotTaken(progress) && progress.state === 'running' && progress.engineState.isAway === true

/** Whether what is told of a job comes from the engine itself: one that is yet to be sent has met nobody. */
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
