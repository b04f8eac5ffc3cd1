import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openJournals } from './journals.ts'
import { met, Tally } from './tally.ts'
import { playRound } from './wallet-round.ts'
import { Crew } from './worker.ts'

/** A short run of what `npm run faults -- --wallet` does for long. */
describe('wallets that share a budget, killed while they pay a service in trouble', () => {
  const crew = new Crew()
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-wallets-'))
  })
  afterAll(async () => {
    await crew.end()
    await rm(folder, { recursive: true, force: true })
  })

  test('sign each payment once, within their caps, and each one ends', { timeout: 180_000 }, async () => {
    const tally = new Tally()
    const journals = await openJournals('sqlite')
    const failures: string[] = []
    // A kill where every payment comes by, two that meet before they plan, and the switch thrown over a payment.
    for (const seed of [50_004, 50_001, 50_005]) {
      failures.push(...(await playRound({ seed, folder: join(folder, `${seed}`), journals, crew, tally })))
    }
    expect(failures).toEqual([])
    expect(tally.authorizations).toBeGreaterThan(0)
    const states = [...tally.states]
    expect(states.filter(([state, times]) => state.startsWith(met('')) && times > 0)).not.toEqual([])
    for (const kind of ['killed: ', 'halted: '])
      expect(states.filter(([state, times]) => state.startsWith(kind) && times > 0)).not.toEqual([])
  })
})
