import { expect, test } from 'vitest'
import {
  type Figure,
  goalOf,
  goalsInWords,
  inTurn,
  isMissed,
  type Line,
  median,
  quantile,
  ratioOf,
  tableOf,
} from '../../bench/kit/figures.ts'

const line = (value: number, goal: Partial<Line>): Line => ({ what: 'what', value, unit: ' ms', ...goal })

test.each([
  ['at the goal', line(1, { atMost: 1 }), 'goal ≤ 1 ms: met'],
  ['beyond it', line(1.01, { atMost: 1 }), 'goal ≤ 1 ms: missed'],
  ['below the least', line(2, { atLeast: 3 }), 'goal ≥ 3 ms: missed'],
  ['not measured', line(Number.NaN, { atMost: 1 }), 'goal ≤ 1 ms: missed'],
  ['without a goal', line(2, {}), ''],
])('a figure %s', (_, figure, words) => {
  expect(goalOf(figure)).toBe(words)
  expect(isMissed(figure)).toBe(words.endsWith('missed'))
})

const figures: Figure[] = [
  { load: '1 connection', metric: 'p50, ms', side: 'one', rounds: [1, 2, 30], digits: 1 },
  { load: '1 connection', metric: 'p50, ms', side: 'other', rounds: [2, 4, 10], digits: 1 },
]

test('a ratio is the median of the rounds’ own ratios, so that a busy round weighs on both sides', () => {
  expect(ratioOf(figures, '1 connection', 'p50, ms', 'one', 'other')).toBe(0.5)
})

test('a table has a row a load and a column a side, with the spread of the rounds', () => {
  expect(tableOf(figures, 'p50, ms')).toEqual([
    '| p50, ms | one | other |',
    '|---|---|---|',
    '| 1 connection | 2.0 (1.0–30.0) | 4.0 (2.0–10.0) |',
  ])
})

test('a goal without a bound is a figure alone', () => {
  expect(goalsInWords([{ what: 'ratio', value: 1.234, digits: 2, unit: ' ×' }])).toEqual(['ratio: 1.23 ×'])
  expect(goalsInWords([{ what: 'p50', value: 1, atMost: 2, unit: ' ms' }])).toEqual(['p50: 1 ms (goal ≤ 2 ms: met)'])
})

test('a median and a quantile are values that were measured', () => {
  expect([median([3, 1, 2]), quantile([1, 2, 3, 4], 0.5), quantile([1], 0.99)]).toEqual([2, 3, 1])
  expect(() => median([])).toThrow('Nothing was measured.')
})

test('each round measures every side once, and no side always goes first', async () => {
  const order: string[] = []
  const measured = await inTurn(['a', 'b'], 4, async (side, round) => {
    order.push(side)
    return `${side}${round}`
  })
  expect(measured).toEqual([
    ['a0', 'a1', 'a2', 'a3'],
    ['b0', 'b1', 'b2', 'b3'],
  ])
  expect(new Set([order[0], order[2], order[4], order[6]])).toEqual(new Set(['a', 'b']))
})
