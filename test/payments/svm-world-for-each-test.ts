import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type SvmAccount, type SvmChain, startSvmChain } from './svm-chain.ts'
import { openSvmWorld, type SvmWorld, svmPayer } from './svm-world.ts'

interface Made {
  chain: SvmChain
  world: SvmWorld
  /** Of a payer with funds. */
  account: SvmAccount
}

/** A Solana chain for the file, and new ledger and a payer on it for each of its tests; `take` gets them before the test begins. */
export function svmWorldForEachTest(take: (made: Made) => void): void {
  let chain: SvmChain
  let world: SvmWorld
  beforeAll(async () => {
    chain = await startSvmChain()
  })
  afterAll(() => chain.stop())
  beforeEach(async () => {
    world = await openSvmWorld(chain)
    take({ chain, world, account: await svmPayer(world) })
  })
  afterEach(async () => {
    chain.node.slots.finality = { confirmed: 0, finalized: 0 }
    await world.dispose()
  })
}
