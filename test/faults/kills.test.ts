import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operationsBetweenKills } from './bounds.ts'
import { Campaign } from './campaign.ts'
import { randomKills } from './kill-run.ts'

/** A short run of what `npm run faults` does for long; it does not wait for the leases that the last kill left. */
describe('a server that is killed under load', () => {
  const kills = 3
  let folder: string
  let campaign: Campaign

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-kills-'))
    campaign = new Campaign({ plans: randomKills(kills), seed: 3, folder, waitForLeases: false })
  })
  afterAll(async () => {
    await campaign.end()
    await rm(folder, { recursive: true, force: true })
  })

  test('keeps everything that it acknowledged', { timeout: 300_000 }, async () => {
    const { book, findings, restartsMs, recovered } = await campaign.run()
    expect(findings.failures).toEqual([])
    expect([findings.lostMicroUsd, findings.driftMicroUsd, findings.holdsLeft]).toEqual([0n, 0n, 0])
    expect(restartsMs).toHaveLength(kills)
    expect(book.total).toBeGreaterThanOrEqual(kills * operationsBetweenKills)
    // Each kill has cut streams with checkpoints, which recovery has charged.
    expect(recovered[0]).toBeGreaterThanOrEqual(kills)
    const never = Object.entries(book.acknowledged).filter(([, count]) => count === 0)
    expect(never).toEqual([])
  })
})
