import { rmSync } from 'node:fs'
import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { EvmKey } from '#wallet/keys.ts'
import { WalletRefusal } from '#wallet/refusal.ts'
import type { Sent } from '#wallet/send-payment.ts'
import type { Wallet } from '#wallet/wallet.ts'
import { credited, fakeService, order, readHeader, sampleWallet, secret, usd } from './sample-wallet.ts'

const dayMs = 86_400_000

/** A token's contract: takes an authorisation once, and none that has run out. */
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

const action = fc.oneof(
  fc.record({
    kind: fc.constant('pay' as const),
    service: fc.constantFrom<Service>('honest', 'silent', 'loses answers', 'takes and says no', 'says no'),
  }),
  fc.record({
    kind: fc.constant('recover' as const),
    service: fc.constantFrom<Service>('honest', 'silent', 'loses answers', 'takes and says no', 'says no'),
  }),
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1_000, 61_000, 301_000, 901_000, 3_600_000, dayMs),
  }),
  fc.record({ kind: fc.constant('restart' as const) }),
)

test('whatever services do, and whenever the wallet restarts, its caps hold', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async actions => {
      const { wallet: first, clock, open, folder } = await sampleWallet()
      const token = chain(() => clock.now())
      let wallet: Wallet = first
      const send =
        (service: Service) =>
        async (header: string): Promise<Sent> => {
          const isTaken = service === 'silent' || service === 'says no' ? null : token.take(header)
          if (service === 'silent' || service === 'loses answers') return { kind: 'unknown', reason: 'timeout' }
          if (service !== 'honest' || isTaken === null) return { kind: 'rejected', status: 400, reason: 'expired' }
          return credited(wallet.address, isTaken)
        }
      for (const each of actions) {
        if (each.kind === 'wait') clock.advance(each.ms)
        else if (each.kind === 'restart') {
          await wallet.close()
          wallet = await open()
        } else {
          const work =
            each.kind === 'pay' ? wallet.pay(order(), send(each.service)) : wallet.recover(send(each.service))
          await work.catch(error => expect(error).toBeInstanceOf(WalletRefusal))
        }
      }
      const taken = [...token.taken.values()]
      const sum = (some: typeof taken) => some.reduce((total, { amount }) => total + amount, 0n)
      expect(sum(taken)).toBeLessThanOrEqual((await wallet.status()).spentTotalMicroUsd)
      expect(sum(taken)).toBeLessThanOrEqual(usd(20))
      for (const { atMs } of taken)
        expect(sum(taken.filter(other => other.atMs <= atMs && other.atMs > atMs - dayMs))).toBeLessThanOrEqual(usd(10))
      // Every payment has an end that needs nobody: a day later an honest service can tell.
      clock.advance(dayMs)
      await wallet.recover(send('honest'))
      expect((await wallet.status()).openPayments).toEqual([])
      await wallet.close()
      rmSync(folder, { recursive: true })
    }),
    { numRuns: 60 },
  )
})

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

test('whoever sleeps through its turn signs for nothing', async () => {
  const { wallet, clock, folder, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, 'credit')
  const sleepy = new SleepyKey(async () => {
    clock.advance(30_000)
    await wallet.pay(order(), service.send)
  })
  const { wallet: late } = await sampleWallet({}, { stateFolder: folder, key: sleepy, clock })
  await expect(late.pay(order(), service.send)).rejects.toMatchObject({ rule: 'lease-lost' })
  expect(service.settled.size).toBe(1)
  expect((await wallet.receipts(9)).map(({ state, counts }) => [state, counts])).toEqual([
    ['confirmed', true],
    ['dead', false],
  ])
  late.close()
  dispose()
})

test('whoever sleeps while it sends leaves the payment to the one that took over', async () => {
  const { wallet, clock, folder, dispose } = await sampleWallet()
  const { wallet: other } = await sampleWallet({}, { stateFolder: folder, clock })
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
