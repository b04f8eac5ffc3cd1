import { randomUUID } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { nearNames } from '#contract/near-names.ts'
import { type FailureFacts, sayFailure, ToolFailure } from '#toolkit/tool-failure.ts'
import { untrustedName } from '#toolkit/values/untrusted.ts'
import { faultCharacters, faultFrames } from './bounds.ts'
import type { LogLine, McpContext } from './context.ts'

/** The message for a mistake of ours. Its details are only in the log, under this reference. */
export const sayFault = (reference: string): string =>
  `Internal error, reference ${reference}; see the log of the server.`

interface Answering {
  /** What was requested, for the log. */
  where: string
  signal: AbortSignal
  /** A sentence on what the fault did not affect. */
  untouched?: string
  /** The words for a foreseen failure, if they differ from those for a tool's caller. */
  say?: (facts: FailureFacts) => string
}

/**
 * Runs a method of the protocol, and turns every failure into a protocol error in our own words. That includes a
 * missing file of the package: Node's message would reveal its path to the client.
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

/** The error for a name that is not in the listing. */
export function unlisted(what: string, given: string, listed: readonly { name: string }[]): ProtocolError {
  const names = listed.map(({ name }) => name)
  const [near] = nearNames(given, names, 1)
  const meant = near === undefined ? '' : ` Did you mean ${near}?`
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `No ${what} is called ${untrustedName(given)}.${meant} The ${what}s here are ${names.join(', ')}.`,
  )
}

/** Logs an unforeseen error as one line of JSON without secrets, and returns its reference. */
export function logFault(log: LogLine, where: string, error: unknown): string {
  const reference = randomUUID().slice(0, 8)
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  // A stack begins with the message, which may span several lines; keep only the frames.
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
