import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type FailureFacts, sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import type { Desk } from './call-tool.ts'
import { logFault } from './fault-log.ts'

/** Of a mistake of ours, whose words are in the log under this reference and nowhere else. */
export const sayFault = (reference: string): string =>
  `This is an internal fault, reference ${reference}; the log of the server says more.`

export interface Answering {
  /** For the log: what was asked for. */
  where: string
  signal: AbortSignal
  /** What a fault has left as it was, as a sentence. */
  untouched?: string
  /** A foreseen failure, where it is not said as to a tool's caller. */
  say?: (facts: FailureFacts) => string
}

/**
 * What a method of the protocol answers. Whatever goes wrong is an error of the protocol in our words: also a file of the
 * package that is gone or cannot be read, of which Node would tell the client the path.
 */
export async function inOurWords<Result>(
  { clock, log }: Pick<Desk, 'clock' | 'log'>,
  { where, signal, untouched = 'Nothing was charged.', say = facts => sayFailure(facts, clock.now()) }: Answering,
  answer: () => Promise<Result>,
): Promise<Result> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof ProtocolError || signal.aborted) throw error
    const why =
      error instanceof ToolFailure ? say(error.facts) : `${sayFault(logFault(log, where, error))} ${untouched}`
    throw new ProtocolError(ProtocolErrorCode.InternalError, why)
  }
}
