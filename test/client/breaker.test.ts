import fc from 'fast-check'
import { expect, test } from 'vitest'
import { breakerCeiling, flightLifeMs, probePauseMs } from '#client/limits.ts'
import {
  type CallerNote,
  callerNote,
  type FlightEnd,
  judge,
  withBlock,
  withEnd,
  withFlight,
} from '#client/pace/breaker.ts'
import { abuseBlock } from '#contract/limits.ts'

const startMs = 1_000_000
const alone = { own: 1, mostOwn: 16 }

/** A caller's note after calls that ended one after another, 100 ms apart. */
function after(ends: readonly FlightEnd[], note = callerNote(null, startMs)): CallerNote {
  return ends.reduce((known, end, at) => {
    const nowMs = startMs + 100 * at
    return withEnd(withFlight(known, `${at}`, false, nowMs), `${at}`, end, nowMs)
  }, note)
}

const times = (count: number, end: FlightEnd): FlightEnd[] => Array.from({ length: count }, () => end)

const underWay = (note: CallerNote, count: number): CallerNote =>
  Array.from({ length: count }).reduce<CallerNote>((known, _, at) => withFlight(known, `f${at}`, false, startMs), note)

const lastMs = startMs + 2_000

type Row = [rule: string, note: CallerNote, expected: ReturnType<typeof judge>]
test.each<Row>([
  ['nothing known: go', after([]), { kind: 'go', isProbe: false }],
  ['14 failures: go', after(times(14, 'failed')), { kind: 'go', isProbe: false }],
  [
    '15 failures: open until the oldest leaves',
    after(times(15, 'failed')),
    { kind: 'open', untilMs: startMs + 30_000 },
  ],
  ['17 failures: until the third leaves', after(times(17, 'failed')), { kind: 'open', untilMs: startMs + 30_200 }],
  [
    'successes between count nothing',
    after([...times(14, 'failed'), ...times(5, 'succeeded')]),
    { kind: 'go', isProbe: false },
  ],
  [
    'four unanswered do not count',
    after([...times(4, 'unanswered'), ...times(13, 'failed')]),
    { kind: 'go', isProbe: false },
  ],
  [
    'five unanswered count',
    after([...times(5, 'unanswered'), ...times(10, 'failed')]),
    { kind: 'open', untilMs: startMs + 30_000 },
  ],
  ['what was not sent counts nothing', after(times(30, 'not-sent')), { kind: 'go', isProbe: false }],
  ['calls under way may all fail', underWay(after([]), breakerCeiling), { kind: 'full' }],
  [
    'failures and calls under way count together',
    underWay(after(times(10, 'failed')), breakerCeiling - 10),
    { kind: 'full' },
  ],
  ['one below goes', underWay(after(times(10, 'failed')), breakerCeiling - 11), { kind: 'go', isProbe: false }],
  ['the service’s block: 30 s', withBlock(after([]), lastMs, () => 0), { kind: 'open', untilMs: lastMs + 30_000 }],
  ['and up to 2 s more', withBlock(after([]), lastMs, () => 1), { kind: 'open', untilMs: lastMs + 32_000 }],
])('%s', (_, note, expected) => {
  expect(judge(note, lastMs, alone)).toEqual(expected)
})

test.each([
  ['11 failures', 11, 16, 'go'],
  ['12 failures, half of the process’s calls', 12, 8, 'go'],
  ['12 failures, one more than half', 12, 9, 'full'],
] as const)('from 12 failures on a process makes half as many calls at once: %s', (_, failures, own, kind) => {
  expect(judge(after(times(failures, 'failed')), lastMs, { own, mostOwn: 16 }).kind).toBe(kind)
})

test('when the oldest has left, one probe goes; its failure costs a pause, its success closes', () => {
  const nowMs = startMs + 30_000
  const open = callerNote(JSON.stringify(after(times(15, 'failed'))), nowMs)
  expect(judge(open, nowMs, alone)).toEqual({ kind: 'go', isProbe: true })
  const probing = withFlight(open, 'probe', true, nowMs)
  expect(judge(probing, nowMs, alone)).toEqual({ kind: 'open', untilMs: nowMs + probePauseMs })
  const failed = withEnd(probing, 'probe', 'unanswered', nowMs)
  expect(judge(failed, nowMs, alone)).toMatchObject({ kind: 'open', untilMs: nowMs + probePauseMs })
  expect(judge(withEnd(probing, 'probe', 'succeeded', nowMs), nowMs, alone)).toEqual({ kind: 'go', isProbe: false })
})

test('a success of a call from before does not close it, and a probe that never ends gives way', () => {
  const nowMs = startMs + 30_000
  const early = withFlight(after(times(15, 'failed')), 'early', false, startMs)
  const open = withEnd(early, 'early', 'succeeded', nowMs)
  expect(judge(callerNote(JSON.stringify(open), nowMs), nowMs, alone)).toEqual({ kind: 'go', isProbe: true })
  const probing = JSON.stringify(withFlight(open, 'probe', true, nowMs))
  const laterMs = nowMs + flightLifeMs
  expect(judge(callerNote(probing, laterMs), laterMs, alone)).toEqual({ kind: 'go', isProbe: true })
})

test('a note from before the clock was set back is forgotten', () => {
  const note = JSON.stringify(after(times(15, 'failed')))
  const backMs = startMs - 3_600_000
  expect(judge(callerNote(note, backMs), backMs, alone)).toEqual({ kind: 'go', isProbe: false })
})

test('an invalid note, or one of another version, is ignored', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), text => {
      expect(callerNote(text, startMs)).toEqual(callerNote(null, startMs))
    }),
  )
})

test('whatever happened before, no more can fail within a window than the service lets pass', () => {
  const step = fc.record({
    kind: fc.constantFrom('enter', 'end', 'wait'),
    end: fc.constantFrom<FlightEnd>('succeeded', 'failed', 'unanswered'),
    ms: fc.integer({ min: 0, max: 20_000 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), steps => {
      let nowMs = startMs
      let note = callerNote(null, nowMs)
      const failures: number[] = []
      for (const [at, { kind, end, ms }] of steps.entries()) {
        if (kind === 'wait') nowMs += ms
        note = callerNote(JSON.stringify(note), nowMs)
        const verdict = judge(note, nowMs, alone)
        if (kind === 'enter' && verdict.kind === 'go') note = withFlight(note, `${at}`, verdict.isProbe, nowMs)
        const [flight] = note.flights
        if (kind !== 'end' || !flight) continue
        note = withEnd(note, flight.id, end, nowMs)
        if (end !== 'succeeded') failures.push(nowMs)
        expect(failures.filter(atMs => nowMs - atMs < abuseBlock.windowMs).length).toBeLessThanOrEqual(breakerCeiling)
      }
    }),
  )
})
