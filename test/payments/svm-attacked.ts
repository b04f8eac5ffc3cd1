import { expect } from 'vitest'
import { newSvmAccount, type SvmAccount, type SvmChain, startSvmChain } from './svm-chain.ts'
import { craft, type Draft, rewriteMessage, type Transfer, transferOf } from './svm-transactions.ts'
import { creditOf, openSvmWorld, type SvmWorld, sendSvm, svmPayer } from './svm-world.ts'
import type { Loose } from './top-up-world.ts'

type Made = () => Promise<unknown>

/** What the row proves, the attack in words, the payment that is sent, and the reason of its 400. */
export type Attack = [rule: string, attack: string, payment: Made, reason: string]

/** A service that is attacked, and ways to make payments for it that it must not take. */
export class Attacked {
  readonly chain: SvmChain
  readonly world: SvmWorld
  /** Has more than enough, and signs what it sends. */
  readonly account: SvmAccount
  readonly stranger: SvmAccount
  readonly #solBefore: bigint

  private constructor(chain: SvmChain, world: SvmWorld, account: SvmAccount, stranger: SvmAccount) {
    this.chain = chain
    this.world = world
    this.account = account
    this.stranger = stranger
    this.#solBefore = chain.lamportsOf(world.feePayer.address)
  }

  static async open(): Promise<Attacked> {
    const chain = await startSvmChain()
    const world = await openSvmWorld(chain)
    const stranger = await newSvmAccount()
    await chain.mint(stranger.address, 0n)
    return new Attacked(chain, world, await svmPayer(world, 50_000_000_000n), stranger)
  }

  async close(): Promise<void> {
    await this.world.dispose()
    await this.chain.stop()
  }

  /** Refused with this reason, before any node has been asked about it. */
  async expectRefusal(payment: unknown, reason: string): Promise<void> {
    this.world.gate.asked.length = 0
    const { status, body } = await sendSvm(this.world, payment)
    expect([status, body.error, body.details?.reason]).toEqual([400, 'X402_INVALID_PAYMENT', reason])
    expect(body.message).toMatch(/\. .*\.$/)
    expect(this.world.gate.asked).toEqual([])
  }

  /** Nothing was moved or credited, no fee was paid, and no row is left. */
  async expectUntouched(): Promise<void> {
    const { chain, world, account } = this
    expect(await chain.transfersTo(world.payee.address)).toEqual([])
    expect(chain.lamportsOf(world.feePayer.address)).toBe(this.#solBefore)
    expect(await creditOf(world, account.address)).toBe(0n)
    expect(await world.opened.store.read.selectFrom('payment').select('id').execute()).toEqual([])
  }
}

/** Rows are written before anything runs, so each makes its payment when its turn comes. */
export const attackWays = (attacked: () => Attacked) => {
  /** A transaction that is not the honest one, signed as it is. */
  const draft =
    (change: (draft: Draft) => unknown): Made =>
    () =>
      craft(attacked().world, attacked().account, change)
  return {
    draft,
    /** Changes a payment after it was signed. */
    change:
      (mutate: (payment: Loose) => unknown): Made =>
      async () => {
        const payment = await craft(attacked().world, attacked().account)
        return mutate(payment) ?? payment
      },
    /** Says that it accepted something else. */
    accept:
      (fields: () => object): Made =>
      async () => {
        const payment = await craft(attacked().world, attacked().account)
        return { ...payment, accepted: { ...payment.accepted, ...fields() } }
      },
    /** Another payload beside an honest `accepted`. */
    payload:
      (payload: (honest: Loose) => unknown): Made =>
      async () => {
        const payment = await craft(attacked().world, attacked().account)
        return { ...payment, payload: payload(payment.payload) }
      },
    /** Another transfer in the place of the honest one. */
    transfer: (changes: () => Partial<Transfer> | Promise<Partial<Transfer>>): Made =>
      draft(async made => {
        const { account, world } = attacked()
        made.instructions[2] = await transferOf(account, world.payee.address, await changes())
      }),
    /** One instruction more, at the end. */
    add: (instruction: () => Draft['instructions'][number]): Made =>
      draft(made => void made.instructions.push(instruction())),
    /** Changes the bytes that are signed, which the payer then signs. */
    message:
      (mutate: (message: Buffer) => Buffer | undefined): Made =>
      async () =>
        rewriteMessage(await craft(attacked().world, attacked().account), attacked().account, mutate),
  }
}
