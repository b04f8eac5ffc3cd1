import { randomUUID } from 'node:crypto'
import { faultCharacters, faultFrames } from './bounds.ts'

/** Writes one line for the operator; never to stdout. */
export type LogLine = (line: string) => void

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
