import fc from 'fast-check'
import { expect, test } from 'vitest'
import { believedResetMs, flightLifeMs } from '#client/limits.ts'
import {
  type BucketNote,
  bucketNote,
  type LimitWindow,
  roomIn,
  withAnswer,
  withCall,
  withoutCall,
  withPause,
} from '#client/pace/limiter.ts'

const nowMs = 1_000_000
const said = (more: Partial<LimitWindow> = {}): LimitWindow => ({
  requestsLimit: 20,
  requestsLeft: 3,
  requestsResetAtMs: nowMs + 30_000,
  tokensLimit: null,
  tokensLeft: null,
  tokensResetAtMs: null,
  seenAtMs: nowMs,
  ...more,
})

const nothing = bucketNote(null, nowMs)
const after = (...answers: readonly (LimitWindow | null)[]): BucketNote =>
  answers.reduce<BucketNote>((note, answer) => withAnswer(withCall(note, 'c', nowMs), 'c', answer, nowMs), nothing)
const sent = (note: BucketNote, count: number): BucketNote =>
  Array.from({ length: count }).reduce<BucketNote>((known, _, at) => withCall(known, `${at}`, nowMs), note)
const later = (note: BucketNote, ms: number): BucketNote => bucketNote(JSON.stringify(note), nowMs + ms)

type Row = [rule: string, note: BucketNote, room: ReturnType<typeof roomIn>]
test.each<Row>([
  ['nothing known: go', nothing, { kind: 'go' }],
  ['a service without limit headers: go', sent(after(null), 50), { kind: 'go' }],
  ['something left: go', after(said()), { kind: 'go' }],
  [
    'nothing left: not before the reset',
    after(said({ requestsLeft: 0 })),
    { kind: 'used-up', untilMs: nowMs + 30_000 },
  ],
  [
    'nothing left and no reset said: go, and be told',
    after(said({ requestsLeft: 0, requestsResetAtMs: null })),
    { kind: 'go' },
  ],
  ['what was sent since takes all that is left', sent(after(said()), 3), { kind: 'full' }],
  ['two of three under way', sent(after(said()), 2), { kind: 'go' }],
  [
    'an answer without headers took one',
    after(said({ requestsLeft: 1 }), null),
    { kind: 'used-up', untilMs: nowMs + 30_000 },
  ],
  [
    'a call that was never sent took none',
    withoutCall(sent(after(said({ requestsLeft: 1 })), 1), '0', nowMs),
    { kind: 'go' },
  ],
  [
    'no tokens left: not before their reset',
    after(said({ tokensLeft: 0, tokensResetAtMs: nowMs + 9_000 })),
    { kind: 'used-up', untilMs: nowMs + 9_000 },
  ],
  [
    'of answers that overtook each other the smaller counts',
    after(said({ requestsLeft: 0 }), said({ requestsLeft: 2, requestsResetAtMs: nowMs + 30_900 })),
    { kind: 'used-up', untilMs: nowMs + 30_900 },
  ],
  [
    'of answers with different limits the later one counts',
    after(said({ requestsLeft: 0 }), said({ requestsLimit: 500, requestsLeft: 499 })),
    { kind: 'go' },
  ],
  [
    'a new window counts anew',
    after(said({ requestsLeft: 0 }), said({ requestsLeft: 19, requestsResetAtMs: nowMs + 90_000 })),
    { kind: 'go' },
  ],
  [
    'an answer of an earlier window says nothing',
    after(said({ requestsLeft: 0, requestsResetAtMs: nowMs + 90_000 }), said()),
    { kind: 'used-up', untilMs: nowMs + 90_000 },
  ],
  [
    'a refusal that says only when to try again in a moment',
    withPause(after(said()), nowMs + 5_000),
    { kind: 'used-up', untilMs: nowMs + 5_000 },
  ],
])('%s', (_, note, room) => {
  expect(roomIn(note, nowMs)).toEqual(room)
})

test('after the reset the whole limit is there, less what was sent since', () => {
  const note = after(said({ requestsLimit: 2, requestsLeft: 0 }))
  const fresh = later(note, 30_000)
  expect(roomIn(fresh, nowMs + 30_000)).toEqual({ kind: 'go' })
  expect(roomIn(sent(fresh, 2), nowMs + 30_000)).toEqual({ kind: 'full' })
})

test('calls of a dead process stop counting when they can no longer be in flight', () => {
  const note = sent(after(said({ requestsLeft: 1, requestsResetAtMs: null })), 1)
  expect(roomIn(later(note, flightLifeMs - 1), nowMs)).toEqual({ kind: 'full' })
  expect(roomIn(later(note, flightLifeMs), nowMs)).toEqual({ kind: 'go' })
})

const dayOffMs = nowMs + 24 * 60 * 60 * 1_000
const believedUntilMs = nowMs + believedResetMs

test.each<[string, Partial<LimitWindow>]>([
  ['of requests', { requestsLeft: 0, requestsResetAtMs: dayOffMs }],
  ['of requests without a limit', { requestsLimit: null, requestsLeft: 0, requestsResetAtMs: dayOffMs }],
  ['of tokens', { tokensLimit: 9, tokensLeft: 0, tokensResetAtMs: dayOffMs }],
  ['of both', { requestsLeft: 0, requestsResetAtMs: dayOffMs, tokensLeft: 0, tokensResetAtMs: dayOffMs }],
])('an end %s that is said to be a day off is believed for an hour, then one call finds out', (_, window) => {
  const note = after(said(window))
  expect(roomIn(note, nowMs)).toEqual({ kind: 'used-up', untilMs: believedUntilMs })
  expect(roomIn(later(note, believedResetMs - 1), believedUntilMs - 1)).toEqual({
    kind: 'used-up',
    untilMs: believedUntilMs,
  })
  const open = later(note, believedResetMs)
  expect(roomIn(open, believedUntilMs)).toEqual({ kind: 'go' })
  const probed = withCall(open, 'probe', believedUntilMs)
  expect(roomIn(probed, believedUntilMs)).toEqual({ kind: 'full' })
  const again = withAnswer(probed, 'probe', said({ ...window, seenAtMs: believedUntilMs }), believedUntilMs)
  expect(roomIn(again, believedUntilMs)).toEqual({ kind: 'used-up', untilMs: believedUntilMs + believedResetMs })
  const well = withAnswer(
    probed,
    'probe',
    said({ requestsResetAtMs: believedUntilMs + 30_000, seenAtMs: believedUntilMs }),
    believedUntilMs,
  )
  expect(roomIn(sent(well, 2), believedUntilMs)).toEqual({ kind: 'go' })
})

test('an invalid note, or one of another version, is ignored', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), text => {
      expect(bucketNote(text, nowMs)).toEqual(nothing)
    }),
  )
})

test('within one window no order of answers lets more be sent than the service has left', () => {
  const answers = fc.uniqueArray(fc.integer({ min: 0, max: 19 }), { minLength: 1 })
  fc.assert(
    fc.property(answers, fc.integer({ min: 0, max: 20 }), (lefts, calls) => {
      const note = sent(after(...lefts.map(requestsLeft => said({ requestsLeft }))), calls)
      expect(roomIn(note, nowMs).kind === 'go').toBe(Math.min(...lefts) > calls)
    }),
  )
})
