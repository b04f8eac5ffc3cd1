import { expect, test } from 'vitest'
import { fuzz } from './fuzz-run.ts'

const seed = 20_261_122

test('2,000 good and bad inputs: no fault of the service, and no charge for a refusal', {
  timeout: 600_000,
}, async () => {
  const { findings, statuses } = await fuzz({ inputs: 2_000, seed })
  expect(findings).toEqual([])
  // Inputs that all have the same outcome would prove little.
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '400', '401', '402', '404', '415']))
})
