import { randomUUID } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type FailureFacts, sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import { faultCharacters, faultFrames } from './bounds.ts'
import type { LogLine, McpContext } from './context.ts'

/** Of a mistake of ours, whose words are in the log under this reference and nowhere else. */
export const sayFault = (reference: string): string =>
  `Internal error, reference ${reference}; see the log of the server.`

interface Answering {
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
  { clock, log }: Pick<McpContext, 'clock' | 'log'>,
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

/** Of a name that a request gives and the listing has not. */
export const unlisted = (what: string, listed: readonly { name: string }[]): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no such ${what}; ${listed.map(({ name }) => name).join(', ')} are here`,
  )

/** Logs an unforeseen error as one line of JSON without secrets and returns the reference that names it. */
export function logFault(log: LogLine, where: string, error: unknown): string {
  const reference = randomUUID().slice(0, 8)
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  // The first lines of a stack repeat the message, which may run over several; only the places are wanted.
  const places = (stack ?? '').split('\n').filter(line => /^ {4}at /.test(line))
  log(
    JSON.stringify({
      level: 'error',
      reference,
      where,
      error: name,
      reason: withoutSecrets(message).slice(0, faultCharacters),
      at: places.slice(0, faultFrames).map(place => place.trim()),
    }),
  )
  return reference
}

/** Keys, signatures, tokens and encoded files are long runs of letters and digits; words are not. */
const withoutSecrets = (text: string): string => text.replaceAll(/[A-Za-z0-9+/_=.-]{32,}/g, '[left out]')
