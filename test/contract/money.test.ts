import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addUsd,
  displayUsd,
  formatUsd,
  fromUsdNumber,
  microUsd,
  parseUsd,
  priceLines,
  pricePerMillion,
  toUsdNumber,
} from '#contract/money.ts'

const amount = fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n })

test('what is written is read back', () => {
  fc.assert(
    fc.property(amount, value => {
      expect(parseUsd(formatUsd(value))).toBe(value)
    }),
  )
})

test('a text is read as what it says, or not at all', () => {
  const decimal = fc.tuple(fc.constantFrom('', '-'), fc.nat(999_999_999), fc.nat(999_999))
  fc.assert(
    fc.property(decimal, ([sign, whole, fraction]) => {
      const value = BigInt(whole) * 1_000_000n + BigInt(fraction)
      expect(parseUsd(`${sign}${whole}.${String(fraction).padStart(6, '0')}`)).toBe(sign ? -value : value)
    }),
  )
  fc.assert(
    fc.property(fc.string(), text => {
      const value = parseUsd(text)
      if (value !== null) expect(text).toMatch(/^-?\d+(\.\d{1,6})?$/)
    }),
  )
})

test.each([
  '',
  '-',
  '+5',
  '.5',
  '5.',
  '1e3',
  '0x10',
  '1,000',
  ' 5',
  '5 ',
  '5\n',
  '1.0000001',
  '1234567890123',
  'NaN',
  '٥',
])('no amount: %j', text => {
  expect(parseUsd(text)).toBeNull()
})

test.each([
  [0n, '0.000000', '0.00 USD'],
  [1n, '0.000001', '0.000001 USD'],
  [-1n, '-0.000001', '-0.000001 USD'],
  [4_230_000n, '4.230000', '4.23 USD'],
  [5_000_000n, '5.000000', '5.00 USD'],
  [1_234_560n, '1.234560', '1.23456 USD'],
  [10_000_000_100_000n, '10000000.100000', '10000000.10 USD'],
])('%s micro-USD is %s, and %s for people', (value, wire, people) => {
  expect(formatUsd(value)).toBe(wire)
  expect(displayUsd(value)).toBe(people)
})

test('a JSON number loses nothing up to a billion USD', () => {
  const upToBillion = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
  fc.assert(
    fc.property(upToBillion, value => {
      expect(fromUsdNumber(JSON.parse(JSON.stringify(toUsdNumber(value))))).toBe(value)
    }),
  )
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1.1e9, 1.1e9])('no amount: %d', number => {
  expect(fromUsdNumber(number)).toBeNull()
})

const line = fc.record({
  units: fc.bigInt({ min: 0n, max: 10n ** 9n }),
  unitPricePicoUsd: fc.bigInt({ min: 0n, max: 10n ** 9n }),
})

test('a charge is rounded up once over its sum, and no line is negative', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), lines => {
      const amounts = priceLines(lines)
      const pico = lines.reduce((sum, { units, unitPricePicoUsd }) => sum + units * unitPricePicoUsd, 0n)
      const total = addUsd(...amounts)
      expect(amounts).toHaveLength(lines.length)
      expect(amounts.every(value => value >= 0n)).toBe(true)
      expect(total * 1_000_000n >= pico).toBe(true)
      expect(total * 1_000_000n - pico < 1_000_000n).toBe(true)
    }),
  )
})

test('anything billable costs a micro-USD at least, and nothing costs nothing', () => {
  expect(priceLines([{ units: 1n, unitPricePicoUsd: 1n }])).toEqual([1n])
  expect(priceLines([{ units: 0n, unitPricePicoUsd: 5n }])).toEqual([0n])
  expect(priceLines([])).toEqual([])
})

test('three thirds of a micro-USD are one', () => {
  const third = { units: 1n, unitPricePicoUsd: 333_333n }
  expect(priceLines([third, third, third])).toEqual([1n, 0n, 0n])
})

test('a price a million units', () => {
  expect(pricePerMillion('0.15')).toBe(150_000n)
  expect(pricePerMillion('2')).toBe(2_000_000n)
  expect(priceLines([{ units: 1_000_000n, unitPricePicoUsd: pricePerMillion('0.15') ?? 0n }])).toEqual([150_000n])
  for (const text of ['', '-1', '1e3', '0.0000001', '.5', '1.', '1234567890']) expect(pricePerMillion(text)).toBeNull()
  expect(microUsd(5)).toBe(5n)
})
