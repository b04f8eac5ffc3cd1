import { z } from 'zod'
import { abuseBlock } from '#contract/limits.ts'
import {
  blockJitterMs,
  breakerCeiling,
  breakerEasesAt,
  breakerFailures,
  breakerUncountedUnanswered,
  breakerWindowMs,
  flightLifeMs,
  probePauseMs,
} from '../limits.ts'
import { goneOf, type NoteOwner, readNote } from './shared-notes.ts'

const CallerNote = z.object({
  changedAtMs: z.number(),
  /** Failures in the last window, oldest first. The service may not have seen the unanswered ones. */
  failures: z.array(z.object({ atMs: z.number(), wasAnswered: z.boolean() })),
  /** Calls in flight, each of which may fail. */
  flights: z.array(
    z.object({ id: z.string(), untilMs: z.number(), isProbe: z.boolean(), owner: z.string().optional() }),
  ),
  /** Null while closed. Until this time nothing is sent; after it one probe at a time, until one succeeds. */
  openUntilMs: z.number().nullable(),
})

/** What all processes on this machine know about one caller at one service. */
export type CallerNote = z.output<typeof CallerNote>

/** How a call ended, as far as it affects the service's count of failures. */
export type FlightEnd = 'succeeded' | 'failed' | 'unanswered' | 'not-sent'

export type Verdict =
  | { kind: 'go'; isProbe: boolean }
  /** Nothing is sent before that time; `isUnanswered` if the last failure was a missing answer. */
  | { kind: 'open'; untilMs: number; isUnanswered?: true }
  /** Other calls must end first. */
  | { kind: 'full' }

/** Returns the current note, without failures that have left the window and calls that can no longer be in flight. */
export function callerNote(text: string | null, nowMs: number): CallerNote {
  const note = readNote(CallerNote, text, nowMs)
  if (!note) return { changedAtMs: nowMs, failures: [], flights: [], openUntilMs: null }
  return {
    ...note,
    failures: note.failures.filter(({ atMs }) => atMs > nowMs - breakerWindowMs),
    flights: note.flights.filter(({ untilMs }) => untilMs > nowMs),
  }
}

/**
 * Decides whether one more call may be sent. Failures plus calls in flight stay below the service's block, so that it
 * is not reached even if all of them fail (brief §7.3). `own` counts this process's calls, including this one, out of
 * at most `mostOwn`.
 */
export function judge(note: CallerNote, nowMs: number, { own, mostOwn }: { own: number; mostOwn: number }): Verdict {
  const { openUntilMs, flights, failures } = note
  if (openUntilMs !== null) {
    const why = failures.at(-1)?.wasAnswered === false ? ({ isUnanswered: true } as const) : {}
    if (nowMs < openUntilMs) return { kind: 'open', untilMs: openUntilMs, ...why }
    if (flights.some(({ isProbe }) => isProbe)) return { kind: 'open', untilMs: nowMs + probePauseMs, ...why }
  }
  if (failures.length + flights.length >= breakerCeiling) return { kind: 'full' }
  if (counted(note).length >= breakerEasesAt && own > Math.ceil(mostOwn / 2)) return { kind: 'full' }
  return { kind: 'go', isProbe: openUntilMs !== null }
}

export const withFlight = (
  note: CallerNote,
  id: string,
  isProbe: boolean,
  nowMs: number,
  owner?: string,
): CallerNote => ({
  ...note,
  changedAtMs: nowMs,
  flights: [...note.flights, { id, untilMs: nowMs + flightLifeMs, isProbe, ...(owner === undefined ? {} : { owner }) }],
})

/**
 * Removes calls whose process has ended, because they will get no answer. The first few are dropped. If there are more,
 * they may all have failed at the service, so they count until they leave its window, but they do not open the breaker.
 */
export function withoutGone(note: CallerNote, owner: NoteOwner | undefined, nowMs: number): CallerNote {
  const gone = goneOf(note.flights, owner)
  if (gone.length === 0) return note
  const others = note.flights.filter(flight => !gone.includes(flight))
  const untilMs = nowMs + breakerWindowMs
  const held = gone.map(flight => ({ id: flight.id, untilMs: Math.min(flight.untilMs, untilMs), isProbe: false }))
  const wasProbe = gone.some(({ isProbe }) => isProbe)
  return {
    ...note,
    changedAtMs: nowMs,
    flights: gone.length < breakerUncountedUnanswered ? others : [...others, ...held],
    openUntilMs: wasProbe ? latest([note.openUntilMs, nowMs + probePauseMs]) : note.openUntilMs,
  }
}

/** Removes one call in flight and records its failure, if it failed. */
export function withEnd(note: CallerNote, id: string, end: FlightEnd, nowMs: number): CallerNote {
  const wasProbe = note.flights.find(flight => flight.id === id)?.isProbe ?? false
  const ended = { ...note, changedAtMs: nowMs, flights: note.flights.filter(flight => flight.id !== id) }
  if (end === 'not-sent') return ended
  if (end === 'succeeded') return wasProbe ? { ...ended, openUntilMs: null } : ended
  const failures = [...note.failures, { atMs: nowMs, wasAnswered: end === 'failed' }]
  const openings = [note.openUntilMs, fullUntilMs({ failures }), wasProbe ? nowMs + probePauseMs : null]
  return { ...ended, failures, openUntilMs: latest(openings) }
}

/** Records that the service blocks this caller. */
export const withBlock = (note: CallerNote, nowMs: number, random: () => number): CallerNote => ({
  ...note,
  changedAtMs: nowMs,
  openUntilMs: latest([note.openUntilMs, nowMs + abuseBlock.blockMs + blockJitterMs * random()]),
})

/** Returns when enough failures will have left the window; null if there are not too many. */
function fullUntilMs({ failures }: Pick<CallerNote, 'failures'>): number | null {
  const all = counted({ failures })
  const leaving = all[all.length - breakerFailures]
  return leaving ? leaving.atMs + breakerWindowMs : null
}

function counted({ failures }: Pick<CallerNote, 'failures'>): CallerNote['failures'] {
  const answered = failures.filter(({ wasAnswered }) => wasAnswered)
  return failures.length - answered.length < breakerUncountedUnanswered ? answered : failures
}

function latest(times: readonly (number | null)[]): number | null {
  const known = times.filter(time => time !== null)
  return known.length > 0 ? Math.max(...known) : null
}
