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
  /** Failures of the last window, oldest first. Unanswered ones need not have been seen by the service. */
  failures: z.array(z.object({ atMs: z.number(), wasAnswered: z.boolean() })),
  /** Calls in flight, each of which may fail. */
  flights: z.array(
    z.object({ id: z.string(), untilMs: z.number(), isProbe: z.boolean(), owner: z.string().optional() }),
  ),
  /** Null while all is well. Until then nothing is sent; from then on one probe at a time, until one succeeds. */
  openUntilMs: z.number().nullable(),
})

/** What is known of one caller at one service, from all processes that share it. */
export type CallerNote = z.output<typeof CallerNote>

/** How a call ended, as far as the service's count of failures depends on it. */
export type FlightEnd = 'succeeded' | 'failed' | 'unanswered' | 'not-sent'

export type Verdict =
  | { kind: 'go'; isProbe: boolean }
  /** Nothing goes before that time; said where the last failure was that no answer came. */
  | { kind: 'open'; untilMs: number; isUnanswered?: true }
  /** Others have to end first. */
  | { kind: 'full' }

/** The note as it holds now: without failures that have left the window and calls that cannot be in flight any more. */
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
 * Whether one more call may be sent. Failures and calls in flight stay below the service's block together, so that it is
 * not reached even if all of them fail (brief §7.3). `own` are this process's calls, this one included, of `mostOwn`.
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
 * Calls whose process has ended get no answer any more. A few are free at once; more may have failed together at the
 * service just then, so they count until that has left its window, and open nothing.
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

/** One call less in flight, and perhaps one failure more. */
export function withEnd(note: CallerNote, id: string, end: FlightEnd, nowMs: number): CallerNote {
  const wasProbe = note.flights.find(flight => flight.id === id)?.isProbe ?? false
  const ended = { ...note, changedAtMs: nowMs, flights: note.flights.filter(flight => flight.id !== id) }
  if (end === 'not-sent') return ended
  if (end === 'succeeded') return wasProbe ? { ...ended, openUntilMs: null } : ended
  const failures = [...note.failures, { atMs: nowMs, wasAnswered: end === 'failed' }]
  const openings = [note.openUntilMs, fullUntilMs({ failures }), wasProbe ? nowMs + probePauseMs : null]
  return { ...ended, failures, openUntilMs: latest(openings) }
}

/** The service has said that it blocks this caller. */
export const withBlock = (note: CallerNote, nowMs: number, random: () => number): CallerNote => ({
  ...note,
  changedAtMs: nowMs,
  openUntilMs: latest([note.openUntilMs, nowMs + abuseBlock.blockMs + blockJitterMs * random()]),
})

/** When the oldest of too many failures leaves the window; null where they are not too many. */
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
