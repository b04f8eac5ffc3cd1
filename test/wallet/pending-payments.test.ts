/** Payments that a service has and does not credit yet, because it counts the confirmations of its chain. */
import { afterEach, expect, test, vi } from 'vitest'
import { fakeService, order, sampleWallet, usd } from './sample-wallet.ts'

afterEach(() => vi.restoreAllMocks())

test('a payment that waits for its chain is sent again for as long as ten confirmations on Base take', async () => {
  const { wallet, pauses, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, ...Array.from({ length: 7 }, () => 'pending' as const), 'credit')
  expect(await wallet.pay(order(), service.send)).toMatchObject({ creditedMicroUsd: usd(5), isEarlier: false })
  expect(service.received).toHaveLength(8)
  expect(new Set(service.received).size).toBe(1)
  expect(pauses.reduce((sum, pause) => sum + pause)).toBe(30_000)
  dispose()
})

test('one that waits longer is left to the next call, which knows that the service has it', async () => {
  const { wallet, dispose } = await sampleWallet()
  const service = fakeService(wallet.address, 'pending')
  await expect(wallet.pay(order(), service.send)).rejects.toMatchObject({
    rule: 'payment-open',
    sentence: expect.stringMatching(/has the payment .* of 5\.00 USD, and its chain has not confirmed it yet/),
    nextStep: expect.stringMatching(/^Try again in a minute: the same payment is sent again/),
  })
  expect(service.received).toHaveLength(8)
  await wallet.pay(order(), fakeService(wallet.address, 'credit').send)
  expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: usd(5), openPayments: [] })
  dispose()
})

test('no attempt begins when an assistant may give up soon, however long each of them takes', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const { wallet, dispose } = await sampleWallet()
  const { send, received } = fakeService(wallet.address, 'pending')
  const slow: typeof send = async header => {
    nowMs += 30_000
    return send(header)
  }
  await expect(wallet.pay(order(), slow)).rejects.toMatchObject({ rule: 'outcome-unknown' })
  expect(received).toHaveLength(2)
  dispose()
})
