import { afterEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { PolicySettings } from '#wallet/rules/policy.ts'
import { start } from '#wallet/rules/stop-switch.ts'
import type { SeenCredit } from '#wallet/terms/order.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { fakeService, option, order, sampleWallet, usd } from './sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore, type TestStore } from './test-store.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

describe('refills in a file', () => refillsContract(fileStore))
withPostgres('refills in PostgreSQL', cluster => refillsContract(postgresStore(cluster)))

const settings = { refillBelowUsd: '1', refillByUsd: '5', askAboveUsd: '9', maxDayUsd: '30', maxTotalUsd: '60' }
const offers = async () => ({ accepts: [option()] })

/** Replicas of one wallet, whose journal says for all of them when it is refilled. */
function refillsContract(openStore: OpenTestStore): void {
  let store: TestStore
  const opened: (() => void)[] = []
  afterEach(async () => {
    for (const dispose of opened.splice(0)) dispose()
    await store.dispose()
  })

  const setUp = async (more: Partial<PolicySettings> = {}, replicas = 1) => {
    store = await openStore()
    const samples = await Promise.all(
      Array.from({ length: replicas }, () => sampleWallet({ ...settings, ...more }, { records: store.open() })),
    )
    opened.push(...samples.map(({ dispose }) => dispose))
    const [wallet = expect.fail(), ...others] = samples.map(sample => sample.wallet)
    const service = fakeService(wallet.address, 'credit')
    const see = (balanceUsd: number, agoMs = 0, by = wallet) =>
      by.refill({ balanceMicroUsd: usd(balanceUsd), agoMs: () => agoMs } satisfies SeenCredit, offers, service.send)
    return { wallet, wallets: [wallet, ...others], service, see, settled: () => service.settled.size }
  }

  test('replicas that see one low credit refill it once', async () => {
    const { see, wallets, settled, wallet } = await setUp({}, 4)
    await Promise.all(wallets.flatMap(replica => [1, 2, 3].map(() => see(0.5, 0, replica))))
    expect(settled()).toBe(1)
    expect(await wallet.receipts(9)).toMatchObject([{ occasion: 'refill', state: 'confirmed', amountMicroUsd: usd(5) }])
  })

  test('credit that was told before the refill is old, by the clock of the journal', async () => {
    const { see, settled, wallet } = await setUp()
    await see(0.5)
    await store.advance(10 * 60_000)
    await see(0.4, 10 * 60_000)
    await see(0.4, 11 * 60_000)
    expect([settled(), (await wallet.status()).refill?.isHalted]).toEqual([1, false])
    await see(0.4, 10 * 60_000 - 1)
    expect([settled(), (await wallet.status()).refill?.isHalted]).toEqual([1, true])
  })

  test('a refill that one dear call has used up since was seen all the same', async () => {
    const { wallet, service, see } = await setUp()
    await see(0.5)
    await store.advance(1_000)
    const seen = { balanceMicroUsd: usd(1.2), beforeCallMicroUsd: usd(5.5), agoMs: () => 0 }
    await wallet.refill(seen, offers, service.send)
    await see(1.1)
    expect((await wallet.status()).refill).toMatchObject({ isHalted: false, note: null })
  })

  test('an answer older than the last payment calls for nothing, and asks the service nothing', async () => {
    const { wallet, service } = await setUp({ cooldownMs: 0 })
    await wallet.pay(order(), service.send)
    await store.advance(5_000)
    const asked = () => expect.fail('the service was asked')
    await wallet.refill({ balanceMicroUsd: usd(0.1), agoMs: () => 5_000 }, asked, service.send)
    expect((await wallet.status()).refill?.note).toBe(null)
    await wallet.refill({ balanceMicroUsd: usd(0.1), agoMs: () => 4_999 }, offers, service.send)
    expect(service.settled.size).toBe(2)
  })

  test('an answer of right after the last payment calls for a refill, however long the journal takes to decide', async () => {
    const { wallet, service } = await setUp({ cooldownMs: 0 })
    await wallet.pay(order(), service.send)
    await store.advance(5_000)
    // A millisecond passes whenever it is asked; the request was sent 2 ms after the payment.
    let agoMs = 4_997
    await wallet.refill({ balanceMicroUsd: usd(0.1), agoMs: () => ++agoMs }, offers, service.send)
    expect((await wallet.receipts(9)).map(({ occasion }) => occasion)).toEqual(['refill', 'after-402'])
  })

  test('a payment that comes while the service is asked is enough, however long that takes', async () => {
    const { wallet, service } = await setUp({ cooldownMs: 0 })
    const slowly = async () => {
      await wallet.pay(order(), service.send)
      await store.advance(5 * 60_000)
      return { accepts: [option()] }
    }
    await wallet.refill({ balanceMicroUsd: usd(0.5), agoMs: () => 0 }, slowly, service.send)
    expect((await wallet.receipts(9)).map(({ occasion }) => occasion)).toEqual(['after-402'])
  })

  test.each([
    ['half of it is enough, because calls spend meanwhile', 3, false],
    ['less is not', 2.999999, true],
  ])('a refill has to show in the credit: %s', async (_, balanceUsd, isHalted) => {
    const { see, wallet } = await setUp({ refillBelowUsd: '20' })
    await see(0.5)
    await store.advance(1)
    await see(balanceUsd)
    expect((await wallet.status()).refill?.isHalted).toBe(isHalted)
  })

  test('the owner, after checking, lets it continue', async () => {
    const { see, wallet, settled } = await setUp()
    const anHour = () => store.advance(60 * 60_000)
    await see(0)
    await anHour()
    for (let time = 0; time < 3; time++) await see(0)
    expect((await wallet.status()).refill).toMatchObject({ isHalted: true, note: expect.stringContaining('not show') })
    await store.open().decide(start)
    await anHour()
    await see(0)
    expect(settled()).toBe(2)
  })

  test('a debt that a service claims is not made up for', async () => {
    const { see, wallet } = await setUp()
    await see(-1_000_000)
    await store.advance(1)
    await see(-999_990)
    expect((await wallet.status()).refill?.isHalted).toBe(true)
  })

  test('a fault on this side is not told of the service', async () => {
    const { wallet } = await setUp()
    const seen = { balanceMicroUsd: microUsd(0), agoMs: () => 0 }
    const broken = () => Promise.resolve(null as never)
    await wallet.refill(seen, broken, expect.fail)
    expect((await wallet.status()).refill?.note).toBe('An internal error kept the wallet from paying it.')
  })

  test('a fault of the service is noted, and the next is thought of a minute later', async () => {
    const { wallet, see, settled } = await setUp()
    const asked: number[] = []
    const failing = () => {
      asked.push(store.now())
      return Promise.reject(new TypeError('no'))
    }
    const seen = { balanceMicroUsd: microUsd(0), agoMs: () => 0 }
    for (let time = 0; time < 3; time++) await wallet.refill(seen, failing, expect.fail)
    expect(asked).toHaveLength(1)
    expect((await wallet.status()).refill?.note).toBe('The payment options of the service could not be fetched.')
    await store.advance(60_000)
    await see(0)
    expect([settled(), (await wallet.status()).refill?.note]).toEqual([1, null])
  })
}

test('an order after a 402 is no refill', async () => {
  const { wallet, dispose } = await sampleWallet(settings)
  const service = fakeService(wallet.address, 'credit')
  await wallet.pay(order(), service.send)
  expect(await wallet.receipts(9)).toMatchObject([{ occasion: 'after-402' }])
  dispose()
})
