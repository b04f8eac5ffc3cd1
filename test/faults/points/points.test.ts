import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Campaign } from '../campaign.ts'
import { pointPlans, type Reached } from './point-plans.ts'
import { missed } from './point-run.ts'

/** A few of the points that `npm run faults -- --points` kills the server at. */
describe('a server that is killed between two effects', () => {
  const only = ['chat: after capture', 'top-up: after settling', 'video: during job queued']
  const reached: Reached = new Map()
  let folder: string
  let campaign: Campaign

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-points-'))
    campaign = new Campaign({ plans: pointPlans({ times: 1, only }, reached), seed: 4, folder, waitForLeases: false })
  })
  afterAll(async () => {
    await campaign.end()
    await rm(folder, { recursive: true, force: true })
  })

  test('keeps what it acknowledged, and repeats nothing', { timeout: 300_000 }, async () => {
    const { findings } = await campaign.run()
    expect(findings.failures).toEqual([])
    expect([...reached.keys()]).toEqual(only)
    expect(missed(reached, 1)).toEqual([])
  })

  test('reports which points were not reached', () => {
    expect(missed(new Map([['chat: nowhere', { reached: 0, tried: 7 }]]), 1)).toHaveLength(1)
  })
})
