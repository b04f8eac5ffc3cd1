import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, onTestFinished, test } from 'vitest'
import { EvmKey } from '#wallet/keys/keys.ts'
import type { Sent } from '#wallet/payment/send-payment.ts'
import type { Records } from '#wallet/records/records.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { Wallet } from '#wallet/wallet.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { credited, fakeService, order, readHeader, sampleWallet, secret, usd } from './sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore, type TestStore } from './test-store.ts'

const dayMs = 86_400_000

/** A token's contract: takes an authorization once, and none that has run out. */
function chain(now: () => number) {
  const taken = new Map<string, { atMs: number; amount: bigint }>()
  return {
    taken,
    take(header: string): bigint | null {
      const { nonce, value, validBefore } = readHeader(header).authorization
      if (taken.has(nonce)) return BigInt(value)
      if (now() >= Number(validBefore) * 1_000) return null
      taken.set(nonce, { atMs: now(), amount: BigInt(value) })
      return BigInt(value)
    },
  }
}

type Service = 'honest' | 'silent' | 'loses answers' | 'takes and says no' | 'says no'

const service = fc.constantFrom<Service>('honest', 'silent', 'loses answers', 'takes and says no', 'says no')

/** Where a process ends: in the middle of its n-th decision, whose COMMIT the records have seen or have not. */
const death = fc.record({ decision: fc.integer({ min: 1, max: 12 }), isAfterCommit: fc.boolean() })
type Death = { decision: number; isAfterCommit: boolean }

const action = fc.oneof(
  fc.record({ kind: fc.constantFrom('pay' as const, 'recover' as const), service, death: fc.constant(null) }),
  fc.record({ kind: fc.constantFrom('pay' as const, 'recover' as const), service, death }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1_000, 61_000, 301_000, 901_000, 3_600_000, dayMs),
  }),
  fc.record({ kind: fc.constant('restart' as const) }),
)
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never

class Died extends Error {}

/** Records of a process that ends where it is told: nothing that it does afterwards reaches them. */
function mortal(records: Records) {
  let due: Death | null = null
  let decisions = 0
  const isDead = () => due !== null && decisions >= due.decision
  const decide: Records['decide'] = async work => {
    if (isDead()) throw new Died()
    decisions++
    if (!isDead()) return records.decide(work)
    if (due?.isAfterCommit) await records.decide(work)
    throw new Died()
  }
  const read: Records['read'] = async work => (isDead() ? Promise.reject(new Died()) : records.read(work))
  const dies = (planned: Death | null) => {
    due = planned
    decisions = 0
  }
  return { records: { ...records, decide, read }, dies, isDead }
}

/** Lets one process after another live on the records, until all actions are done. */
async function live(store: TestStore, token: ReturnType<typeof chain>, actions: readonly Action[]): Promise<Wallet> {
  const start = async () => {
    const { records, dies, isDead } = mortal(store.open())
    const { wallet, dispose } = await sampleWallet({}, { records })
    onTestFinished(dispose)
    return { wallet, dies, isDead }
  }
  let running = await start()
  for (const each of actions) {
    if (each.kind === 'wait') await store.advance(each.ms)
    else if (each.kind === 'restart') running = await start()
    else {
      running.dies(each.death)
      const send = sender(token, running.wallet.address, each.service)
      const work = each.kind === 'pay' ? running.wallet.pay(order(), send) : running.wallet.recover(send)
      await work.catch(error => {
        if (!(error instanceof WalletRefusal) && !(error instanceof Died)) throw error
      })
      const hasDied = running.isDead()
      running.dies(null)
      if (!hasDied) continue
      // Its turn runs out; a later process takes over.
      await store.advance(30_000)
      running = await start()
    }
  }
  return running.wallet
}

const sender =
  (token: ReturnType<typeof chain>, address: string, how: Service) =>
  async (header: string): Promise<Sent> => {
    const isTaken = how === 'silent' || how === 'says no' ? null : token.take(header)
    if (how === 'silent' || how === 'loses answers') return { kind: 'unknown', reason: 'timeout' }
    if (how !== 'honest' || isTaken === null) return { kind: 'rejected', status: 400, reason: 'expired' }
    return credited(address, isTaken)
  }

async function capsHold(store: TestStore, actions: readonly Action[]): Promise<void> {
  const token = chain(store.now)
  const wallet = await live(store, token, actions)
  const taken = [...token.taken.values()]
  const sum = (some: typeof taken) => some.reduce((total, { amount }) => total + amount, 0n)
  expect(sum(taken)).toBeLessThanOrEqual((await wallet.status()).spentTotalMicroUsd)
  expect(sum(taken)).toBeLessThanOrEqual(usd(20))
  for (const { atMs } of taken)
    expect(sum(taken.filter(other => other.atMs <= atMs && other.atMs > atMs - dayMs))).toBeLessThanOrEqual(usd(10))
  // Every payment ends without a user: a day later an honest service knows the outcome.
  await store.advance(dayMs)
  await wallet.recover(sender(token, wallet.address, 'honest'))
  expect((await wallet.status()).openPayments).toEqual([])
}

const whateverHappens = (openStore: OpenTestStore, numRuns: number, maxLength: number) =>
  test('whatever services do, and wherever the wallet is killed, its caps hold and every payment ends', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength }), async actions => {
        const store = await openStore()
        await capsHold(store, actions)
        await store.dispose()
      }),
      { numRuns },
    )
  })

whateverHappens(fileStore, 60, 40)
withPostgres('on a journal in PostgreSQL', cluster => whateverHappens(postgresStore(cluster), 6, 12))

/** A process that sleeps while it signs, and wakes up when its turn is over. */
class SleepyKey extends EvmKey {
  readonly #sleep: () => Promise<void>

  constructor(sleep: () => Promise<void>) {
    super(privateKeyToAccount(`0x${secret}`))
    this.#sleep = sleep
  }

  override async signTypedData(data: Parameters<EvmKey['signTypedData']>[0]): Promise<string> {
    await this.#sleep()
    return super.signTypedData(data)
  }
}

test('a process that sleeps through its turn signs nothing', async () => {
  const { wallet, clock, folder, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, 'credit')
  const sleepy = new SleepyKey(async () => {
    clock.advance(30_000)
    await wallet.pay(order(), service.send)
  })
  const { wallet: late } = await sampleWallet({}, { dataFolder: folder, key: sleepy, clock })
  await expect(late.pay(order(), service.send)).rejects.toMatchObject({ rule: 'lease-lost' })
  expect(service.settled.size).toBe(1)
  expect((await wallet.receipts(9)).map(({ state, counts }) => [state, counts])).toEqual([
    ['confirmed', true],
    ['dead', false],
  ])
  late.close()
  dispose()
})

test('a process that sleeps while it sends leaves the payment to its successor', async () => {
  const { wallet, clock, folder, dispose } = await sampleWallet()
  const { wallet: other } = await sampleWallet({}, { dataFolder: folder, clock })
  const service = fakeService(wallet.address, 'credit')
  const asleep = wallet.pay(order(), async header => {
    clock.advance(30_000)
    await other.pay(order(), service.send)
    expect(service.received).toEqual([header])
    return { kind: 'unknown', reason: 'woke up' }
  })
  await expect(asleep).rejects.toMatchObject({ rule: 'lease-lost' })
  expect(service.settled.size).toBe(1)
  expect(await wallet.receipts(9)).toMatchObject([{ state: 'confirmed' }])
  other.close()
  dispose()
})
