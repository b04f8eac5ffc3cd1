import { z } from 'zod'
import { limitRequests, limitTokens, remainingRequests, remainingTokens, resetTokens } from '#contract/wire/headers.ts'
import { believedResetMs, flightLifeMs, longestHintMs, sameResetMs } from '../limits.ts'
import { requestsResetAtMs } from '../retry/retry-after.ts'
import { goneOf, type NoteOwner, readNote } from './shared-notes.ts'

/** What an answer reported about a caller's window. Null for what it did not report. */
export interface LimitWindow {
  requestsLimit: number | null
  requestsLeft: number | null
  /** By our clock. */
  requestsResetAtMs: number | null
  tokensLimit: number | null
  tokensLeft: number | null
  tokensResetAtMs: number | null
  seenAtMs: number
}

/** Reads the limit headers of an answer (brief §8.4), as many as it has; null if none says what is left. */
export function limitWindow(headers: Headers, nowMs: number): LimitWindow | null {
  const read = (codec: { name: string; parse(text: string): number | null }) =>
    codec.parse(headers.get(codec.name) ?? '')
  const tokensReset = read(resetTokens)
  const window = {
    requestsLimit: read(limitRequests),
    requestsLeft: read(remainingRequests),
    tokensLimit: read(limitTokens),
    tokensLeft: read(remainingTokens),
  }
  if (Object.values(window).every(value => value === null)) return null
  return {
    ...window,
    requestsResetAtMs: requestsResetAtMs(headers, nowMs),
    tokensResetAtMs: tokensReset === null ? null : nowMs + Math.min(longestHintMs, tokensReset * 1_000),
    seenAtMs: nowMs,
  }
}

const figure = z.number().nullable()

const BucketNote = z.object({
  changedAtMs: z.number(),
  requestsLimit: figure,
  requestsLeft: figure,
  requestsResetAtMs: figure,
  tokensLimit: figure,
  tokensLeft: figure,
  tokensResetAtMs: figure,
  seenAtMs: z.number(),
  /** Set by a refusal that gave only a retry time. */
  pausedUntilMs: z.number(),
  /** Calls sent since the service last counted; its next answer includes them. */
  flights: z.array(z.object({ id: z.string(), untilMs: z.number(), owner: z.string().optional() })),
})

/** The service's last report on one limit and model, and what all processes have sent since. */
export type BucketNote = z.output<typeof BucketNote>

const unknown: LimitWindow = {
  requestsLimit: null,
  requestsLeft: null,
  requestsResetAtMs: null,
  tokensLimit: null,
  tokensLeft: null,
  tokensResetAtMs: null,
  seenAtMs: 0,
}

/**
 * Returns the current note. In a new window everything is available again; its length is known only after its first
 * answer. If a window claims to end implausibly late, one call is let through to find out.
 */
export function bucketNote(text: string | null, nowMs: number): BucketNote {
  const note = readNote(BucketNote, text, nowMs)
  if (!note) return { ...unknown, changedAtMs: nowMs, pausedUntilMs: 0, flights: [] }
  const isNew = isOver(note.requestsResetAtMs, nowMs)
  const isNewForTokens = isOver(note.tokensResetAtMs, nowMs)
  const mayGoOn =
    (isNew && note.requestsLeft === 0 && isFar(note.requestsResetAtMs, note)) ||
    (isNewForTokens && note.tokensLeft === 0 && isFar(note.tokensResetAtMs, note))
  return {
    ...note,
    ...(isNew && { requestsLeft: note.requestsLimit, requestsResetAtMs: null }),
    ...(isNewForTokens && { tokensLeft: note.tokensLimit, tokensResetAtMs: null }),
    ...(mayGoOn && (isNew || note.requestsLeft !== 0) && { requestsLeft: 1 }),
    flights: note.flights.filter(({ untilMs }) => untilMs > nowMs),
  }
}

const isOver = (resetAtMs: number | null, nowMs: number): boolean => resetAtMs !== null && resetAtMs <= nowMs

type Window = Pick<LimitWindow, 'requestsResetAtMs' | 'tokensResetAtMs' | 'seenAtMs'>

/** One answer must not stop all calls for a day. */
function believed({ requestsResetAtMs, tokensResetAtMs, seenAtMs }: Window): Window {
  const near = (atMs: number | null) => (atMs === null ? null : Math.min(atMs, seenAtMs + believedResetMs))
  return { requestsResetAtMs: near(requestsResetAtMs), tokensResetAtMs: near(tokensResetAtMs), seenAtMs }
}

const isFar = (resetAtMs: number | null, { seenAtMs }: Window): boolean =>
  resetAtMs !== null && resetAtMs >= seenAtMs + believedResetMs

export type Room =
  | { kind: 'go' }
  /** Before that time the service would refuse calls. */
  | { kind: 'used-up'; untilMs: number }
  /** Calls in flight may use up everything that is left. */
  | { kind: 'full' }

/** Returns whether the limits, as far as known, leave room for one more call. */
export function roomIn(note: BucketNote, nowMs: number): Room {
  const { requestsLeft, requestsResetAtMs, tokensLeft, tokensResetAtMs, pausedUntilMs, flights } = note
  const untilMs = Math.max(
    pausedUntilMs,
    requestsLeft === 0 ? (requestsResetAtMs ?? 0) : 0,
    tokensLeft === 0 ? (tokensResetAtMs ?? 0) : 0,
  )
  if (untilMs > nowMs) return { kind: 'used-up', untilMs }
  return requestsLeft !== null && requestsLeft > 0 && flights.length >= requestsLeft ? { kind: 'full' } : { kind: 'go' }
}

export const withCall = (note: BucketNote, id: string, nowMs: number, owner?: string): BucketNote => ({
  ...note,
  changedAtMs: nowMs,
  flights: [...note.flights, { id, untilMs: nowMs + flightLifeMs, ...(owner === undefined ? {} : { owner }) }],
})

/** Calls whose process has ended used one each, which no answer will report. */
export const withoutGoneCalls = (note: BucketNote, owner: NoteOwner | undefined, nowMs: number): BucketNote =>
  goneOf(note.flights, owner).reduce((known, { id }) => withAnswer(known, id, null, nowMs), note)

/** A call that was never sent used nothing. */
export const withoutCall = (note: BucketNote, id: string, nowMs: number): BucketNote => ({
  ...note,
  changedAtMs: nowMs,
  flights: note.flights.filter(flight => flight.id !== id),
})

/**
 * Records the end of a call. Its answer's figures count unless a later window is known; without figures, the call
 * counts as one.
 */
export function withAnswer(note: BucketNote, id: string, answer: LimitWindow | null, nowMs: number): BucketNote {
  const ended = withoutCall(note, id, nowMs)
  const said = answer && { ...answer, ...believed(answer) }
  if (said) return isOfEarlierWindow(note, said) ? ended : { ...ended, ...said, requestsLeft: lessOf(note, said) }
  const { requestsLeft } = note
  return requestsLeft === null ? ended : { ...ended, requestsLeft: Math.max(0, requestsLeft - 1) }
}

/** A refusal without limit headers says only when to retry. */
export const withPause = (note: BucketNote, untilMs: number): BucketNote => ({
  ...note,
  pausedUntilMs: Math.max(untilMs, note.pausedUntilMs),
})

function isOfEarlierWindow(note: BucketNote, said: LimitWindow): boolean {
  if (note.requestsResetAtMs === null || said.requestsResetAtMs === null) return false
  return said.requestsResetAtMs < note.requestsResetAtMs - sameResetMs
}

/**
 * Within one window the remaining number only shrinks, so if two answers overtook each other, the smaller figure is the
 * later one. Answers with different limits count different things, so the later answer wins.
 */
function lessOf(note: BucketNote, said: LimitWindow): number | null {
  const [known, now] = [note.requestsResetAtMs, said.requestsResetAtMs]
  const isSameWindow =
    known !== null && now !== null && Math.abs(known - now) <= sameResetMs && note.requestsLimit === said.requestsLimit
  if (!isSameWindow || note.requestsLeft === null || said.requestsLeft === null) return said.requestsLeft
  return Math.min(note.requestsLeft, said.requestsLeft)
}
