/** One store for a file of tests, and a customer, a wallet or a key of its own for each of them. */
import { expect } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { KeyPrincipal, WalletPrincipal } from '#ledger/accounts/principal.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import type { ChargeOrder } from '#ledger/charges/charge-order.ts'
import { Charges, type ChargesOptions } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { account, grant, key, mustCommit } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { TestClock } from '../open-service.ts'

export async function openChargeFixture() {
  const { store, path, tamper, dispose } = await openTemporaryStore()
  const clock = new TestClock()
  const stakes = new Map<string, bigint>()
  let people = 0
  const staking = new StakingCredits({
    store,
    clock,
    reader: { stakeOf: async wallets => wallets.reduce((sum, each) => sum + (stakes.get(each) ?? 0n), 0n) },
    onFailure: error => expect(error).toBeNull(),
  })

  async function customer(credit: bigint, budget: KeyBudget | null = null): Promise<KeyPrincipal> {
    const id = `customer:${people++}`
    const keyId = `key of ${id}`
    const granted = credit > 0n ? [grant(credit, `grant:${id}`, id)] : []
    await mustCommit(store, account(id), ...granted, key(keyId, `hash of ${id}`, id, budget))
    return { kind: 'key', account: id, keyId, plan: 'default', ...(budget ? { budget } : {}) }
  }

  async function wallet(credit: bigint, stake: bigint): Promise<WalletPrincipal> {
    const address = `0x${(people++).toString(16).padStart(40, '0')}`
    const id = `wallet:${address}`
    stakes.set(address, stake)
    const granted = credit > 0n ? [grant(credit, `grant:${id}`, id)] : []
    const opened = { op: 'account', account: id, kind: 'wallet', atMs: clock.now() } as const
    await mustCommit(store, opened, { op: 'wallet', wallet: address, account: id, atMs: clock.now() }, ...granted)
    return { kind: 'wallet', account: id, wallet: address, plan: 'default', isNew: false }
  }

  /** A wallet of a customer's own, with a stake. */
  async function link({ account: owner }: KeyPrincipal, stake: bigint): Promise<void> {
    const address = `0x${(people++).toString(16).padStart(40, '0')}`
    await mustCommit(store, { op: 'wallet', wallet: address, account: owner, atMs: clock.now() })
    stakes.set(address, stake)
  }

  const charges = (options: Partial<ChargesOptions> = {}) =>
    new Charges({ store, clock, owner: 'this process', funding: new Funding({ store, clock }), ...options })

  const order = (principal: ChargeOrder['principal'], amount: bigint, most?: bigint): ChargeOrder => ({
    request: uuidV7(clock.now()),
    principal,
    model: 'demo-chat',
    amount: microUsd(amount),
    ...(most === undefined ? {} : { most: microUsd(most) }),
  })

  const entriesOf = async (of: string) =>
    (
      await store.read
        .selectFrom('entry')
        .select(['kind', 'amount'])
        .where('account', '=', of)
        .where('kind', '!=', 'GRANT')
        .orderBy('seq')
        .execute()
    ).map(({ kind, amount }) => `${kind} ${amount}`)

  const held = (of: string) => heldOf(store, of)

  return {
    ...{ store, path, tamper, dispose, clock, stakes, staking },
    ...{ customer, wallet, link, charges, order, entriesOf, held },
  }
}

async function heldOf({ read }: Pick<Store, 'read'>, account: string) {
  const holds = read.selectFrom('hold').select(['amount', 'owed', 'lease_until_ms']).where('account', '=', account)
  return (await holds.execute()).map(hold => ({ ...hold, amount: BigInt(hold.amount) }))
}

export type ChargeFixture = Awaited<ReturnType<typeof openChargeFixture>>
