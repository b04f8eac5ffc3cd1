/** Both rails of one service: what becomes of one while the other fails. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { ChainUnavailable, type OnChain, type PaymentChain } from '#payments/payment/payment.ts'
import { RailChains, RailFacilitators } from '#payments/rails/rails.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import { testOption } from '../service/open-service.ts'
import { type SvmChain, startSvmChain } from './svm-chain.ts'
import { five, sendTo } from './svm-paying.ts'
import { creditOf, openSvmWorld, type SvmWorld, signSvm, svmPayer } from './svm-world.ts'
import { newAccount } from './test-chain.ts'
import { publicUrl, sign } from './top-up-world.ts'

let chain: SvmChain
let world: SvmWorld
let topUps: TopUps
/** What the EVM chain answers; null where it is down. */
let evmSays: OnChain | null
beforeAll(async () => {
  chain = await startSvmChain()
})
afterAll(() => chain.stop())
beforeEach(async () => {
  world = await openSvmWorld(chain)
  evmSays = null
  const evm: PaymentChain<EvmPayment> = {
    async find() {
      if (!evmSays) throw new ChainUnavailable('The node is down.')
      return evmSays
    },
  }
  const evmFacilitator: Facilitator<EvmPayment> = {
    verify: async () => ({ valid: true }),
    settle: () => Promise.reject(new Error('no answer')),
    supported: () => [testOption.network],
    problem: async () => null,
  }
  topUps = world.compose({
    settings: { publicUrl, paymentOptions: [testOption, world.option] },
    facilitator: new RailFacilitators({ evm: evmFacilitator, svm: world.facilitator }),
    chain: new RailChains({ evm, svm: world.paymentChain }),
  })
})
afterEach(async () => {
  await topUps.close()
  await world.dispose()
})

test('while the Solana node is down EVM payments are finished, and the other way round', async () => {
  const [evmPayer, svmPayers] = [newAccount(), await Promise.all([svmPayer(world), svmPayer(world), svmPayer(world)])]
  world.gate.sends = 'lose'
  // These come first, and so each round begins with them.
  for (const each of svmPayers) {
    await expect(sendTo(topUps, await signSvm(world, each))).rejects.toMatchObject({ status: 500 })
  }
  await expect(sendTo(topUps, await sign(evmPayer, testOption))).rejects.toMatchObject({ status: 500 })
  world.gate.isDown = true
  evmSays = { state: 'landed', transaction: `0x${'11'.repeat(32)}`, amount: microUsd(five) }
  world.gate.asked.length = 0
  await topUps.completer.complete()
  expect(await creditOf(world, evmPayer.address.toLowerCase())).toBe(five)
  // One payment found the node down, twice as a broken connection is tried again; the others did not ask.
  expect(world.gate.asked).toEqual(['getSignatureStatuses', 'getSignatureStatuses'])
  evmSays = null
  await expect(sendTo(topUps, await sign(newAccount(), testOption))).rejects.toMatchObject({ status: 500 })
  Object.assign(world.gate, { isDown: false, sends: 'pass' })
  await topUps.completer.complete()
  for (const { address } of svmPayers) expect(await creditOf(world, address)).toBe(five)
})

test('a rail that is no longer configured leaves its payments unchanged, and the operator is warned', async () => {
  const payer = await svmPayer(world)
  world.gate.sends = 'lose'
  await expect(sendTo(topUps, await signSvm(world, payer))).rejects.toMatchObject({ status: 500 })
  const without = world.compose({
    settings: { publicUrl, paymentOptions: [] },
    facilitator: new RailFacilitators({}),
    chain: new RailChains({}),
  })
  const before = world.logged.length
  await without.completer.complete()
  expect(world.logged.slice(before).map(({ message }) => message)).toEqual([
    'A payment could not be completed yet; it is retried.',
  ])
  world.gate.sends = 'pass'
  await topUps.completer.complete()
  expect(await creditOf(world, payer.address)).toBe(five)
})
