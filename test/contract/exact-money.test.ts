import { expect, test } from 'vitest'
import { priceLines } from '#contract/money.ts'

const rules: [rule: string, lines: [units: bigint, unitPricePicoUsd: bigint][], amounts: bigint[]][] = [
  [
    'a pico-USD above a whole number is another micro-USD, however large the sum',
    [[1n, 90_000_000_000_000_001n]],
    [90_000_000_001n],
  ],
  ['a whole number is not rounded up, however large', [[90_000_000_000n, 1_000_000n]], [90_000_000_000n]],
  [
    'three tenths are three tenths',
    [
      [1n, 100_000n],
      [2n, 100_000n],
      [7n, 100_000n],
    ],
    [1n, 0n, 0n],
  ],
  [
    'parts that a float cannot write add up',
    [
      [3n, 1_100_000n],
      [3n, 2_200_000n],
    ],
    [4n, 6n],
  ],
  [
    'the sum of two large lines is exact to the last pico-USD',
    [
      [1n, 2n ** 53n],
      [1n, 1n],
    ],
    [9_007_199_255n, 0n],
  ],
  ['more than a 64-bit float can tell apart is told apart', [[2n ** 53n + 1n, 1_000_000n]], [2n ** 53n + 1n]],
]

test.each(rules)('%s', (_rule, lines, amounts) => {
  expect(priceLines(lines.map(([units, unitPricePicoUsd]) => ({ units, unitPricePicoUsd })))).toEqual(amounts)
})
