import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { startTestChain, type TestChain } from './test-chain.ts'
import { openWorld, type World } from './top-up-world.ts'

/** A chain for the file, and new ledger on it for each of its tests; `take` gets both before the test begins. */
export function worldForEachTest(take: (made: { chain: TestChain; world: World }) => void): void {
  let chain: TestChain
  let world: World
  beforeAll(async () => {
    chain = await startTestChain()
  })
  afterAll(() => chain.stop())
  beforeEach(async () => {
    world = await openWorld(chain)
    take({ chain, world })
  })
  afterEach(() => world.dispose())
}
