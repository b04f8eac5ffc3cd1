import { expect, test } from 'vitest'
import { behaviours } from './behaviours.ts'
import { rails } from './rails.ts'
import { runTwins } from './twin-run.ts'

/** A short run of what `npm run faults:twins` does for long. */
const payments = 5
const twins = 20

test.each(Object.entries(rails))(
  'on %s, however a facilitator fails, every payment is credited once to its payer, and its twins get one answer',
  { timeout: 240_000 },
  async (_, openRail) => {
    const rail = await openRail()
    try {
      const { rows, findings, creditsMicroUsd, transfersMicroUsd } = await runTwins(rail, { payments, twins })
      expect(findings).toEqual([])
      expect(creditsMicroUsd).toBe(transfersMicroUsd)
      expect(rows.map(({ behaviour, transfers, credits }) => [behaviour, transfers, credits])).toEqual(
        behaviours.map(behaviour => [behaviour, payments, payments]),
      )
      expect(rows.every(({ requests }) => requests >= payments * twins)).toBe(true)
      expect(rows.some(({ pending }) => pending > 0)).toBe(true)
    } finally {
      await rail.close()
    }
  },
)
