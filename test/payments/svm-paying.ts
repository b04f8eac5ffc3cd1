import { expect } from 'vitest'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { newSvmAccount, type SvmAccount } from './svm-chain.ts'
import { compile, draftOf, messageStart, transferOf } from './svm-transactions.ts'
import { creditOf, type SvmWorld } from './svm-world.ts'
import { encode, type Loose } from './top-up-world.ts'

export const five = 5_000_000n

/** So many transfers of 5 USD have reached the payee, none has failed, and the payer has credit for as many. */
export async function expectPaid(world: SvmWorld, account: SvmAccount, times: number): Promise<void> {
  const transfers = await world.chain.transfersTo(world.payee.address)
  expect(transfers.map(({ err, amount }) => [err, amount])).toEqual(Array.from({ length: times }, () => [null, five]))
  expect(await creditOf(world, account.address)).toBe(five * BigInt(times))
}

export async function statesOf(world: SvmWorld): Promise<string[]> {
  const rows = await world.opened.store.read.selectFrom('payment').select(['state']).execute()
  return rows.map(({ state }) => state)
}

/** To another process of the same ledger, or to one with other parts. */
export function sendTo(topUps: SvmWorld['topUps'], payment: unknown) {
  const header = (name: string) => (name.toLowerCase() === 'payment-signature' ? [encode(payment)] : [])
  return topUps.topUp({ header, address: '127.0.0.1', count: async () => {} })
}

/** A process whose facilitator is the real one but for these parts. */
export const withFacilitator = (world: SvmWorld, changes: Partial<Facilitator>): SvmWorld['topUps'] =>
  world.compose({
    facilitator: {
      verify: payment => world.facilitator.verify(payment as never),
      settle: payment => world.facilitator.settle(payment as never),
      supported: () => world.facilitator.supported(),
      problem: option => world.facilitator.problem(option),
      ...changes,
    },
  })

/** Signs as the fee payer and puts it on the chain without asking whether it can succeed. */
export function force(world: SvmWorld, payment: Loose): string {
  const bytes = Buffer.from(payment.payload.transaction, 'base64')
  bytes.set(world.feePayer.key.sign(bytes.subarray(messageStart)), 1)
  return world.chain.node.send(bytes, false)
}

/** The payer's tokens go to another address. */
export async function drain(world: SvmWorld, account: SvmAccount): Promise<void> {
  const { chain } = world
  const to = await newSvmAccount()
  await chain.mint(to.address, 0n)
  chain.node.airdrop(account.signer.address, 10_000_000n)
  const made = await draftOf(world, account)
  made.feePayer = account.address
  made.instructions = [await transferOf(account, to.address, { amount: await chain.usdcOf(account.address) })]
  chain.node.send(Buffer.from(compile(made), 'base64'), true)
}
