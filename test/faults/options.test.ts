import { expect, test } from 'vitest'
import { commands } from './commands.ts'
import { readOptions } from './options.ts'

const wrongCounts = ['0', '-5', '-0.5', 'NaN', '1.5', '1e3', '', ' 3', 'Infinity', '99999999999999999999']

test.each(commands.flatMap(({ flag, most }) => wrongCounts.map(count => [flag, most, count] as const)))(
  '--%s, at most %d, is refused as %j: a run without a fault would prove nothing',
  (flag, most, count) => {
    const sentence = `--${flag} takes a whole number from 1 to ${most}.`
    expect(() => readOptions([`--${flag}`, count])).toThrow(sentence)
    expect(() => readOptions([`--${flag}=${count}`])).toThrow(sentence)
  },
)

test.each(['0', '-1', 'NaN'])('%j steps are refused', steps => {
  expect(() => readOptions(['--kills', '1', '--steps', steps])).toThrow('--steps takes a whole number from 1 to ')
})

test('one fault is taken, and any seed', () => {
  expect(readOptions(['--kills', '1', '--seed', '0'])).toMatchObject({ count: 1, seed: 0, steps: null })
})
