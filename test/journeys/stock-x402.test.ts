import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, erc20Abi, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { TopUpResult } from '#contract/operations/wallet.ts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import { TopUpRequired } from '#contract/wire/payment.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { farebox, type SpawnedUp, spawnUp } from './spawned-up.ts'

/** A wallet of its own, with the reference client's own code for reading the 402 and signing. */
describe('the stock x402 client', () => {
  let up: SpawnedUp
  const account = privateKeyToAccount(generatePrivateKey())
  /** The header of the payment that went through. */
  let sent = ''
  let firstBody = ''

  beforeAll(async () => {
    up = await spawnUp()
    await fundFromFaucet({ dataDir: up.folder, address: account.address, amountMicroUsd: microUsd(20_000_000) })
  }, 60_000)
  afterAll(() => up?.dispose())

  const tokens = async (): Promise<bigint> =>
    createPublicClient({ transport: http(up.evmRpcUrl) }).readContract({
      address: usdcOnEvm,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [account.address],
    })

  test('tops up: a credited wallet, and the transfer on the chain before the answer', async () => {
    const client = x402Client.fromConfig({
      schemes: [{ network: 'eip155:8453', client: new ExactEvmScheme(account) }],
      // Its default cap of 1 USD is below the least top-up.
      spendControls: { maxAmountPerPayment: '5' },
    })
    const recording: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      sent = request.headers.get('payment-signature') ?? sent
      return fetch(request)
    }
    const response = await wrapFetchWithPayment(recording, client)(`${up.baseUrl}/x402/top-up`, { method: 'POST' })
    expect(response.status).toBe(200)
    expect(await tokens()).toBe(15_000_000n)
    firstBody = await response.text()
    const result = TopUpResult.parse(JSON.parse(firstBody))
    expect(result.data).toMatchObject({
      walletAddress: account.address.toLowerCase(),
      amountCredited: 5,
      newBalance: 5,
    })
    const settlement = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:8453' })
    expect(settlement.payer?.toLowerCase()).toBe(account.address.toLowerCase())
  })

  test('ten twins of the same header: ten identical answers, one transfer', async () => {
    const twin = async () => {
      const response = await fetch(`${up.baseUrl}/x402/top-up`, {
        method: 'POST',
        headers: { 'payment-signature': sent },
      })
      return [response.status, await response.text()]
    }
    const twins = await Promise.all(Array.from({ length: 10 }, twin))
    expect(new Set(twins.map(each => JSON.stringify(each)))).toEqual(new Set([JSON.stringify([200, firstBody])]))
    expect(await tokens()).toBe(15_000_000n)
  })

  test('ten copies of a new header at once: the same', async () => {
    const scheme = new ExactEvmScheme(account)
    const required = await fetch(`${up.baseUrl}/x402/top-up`, { method: 'POST' })
    const [option] = TopUpRequired.parse(await required.json()).accepts
    if (!option) throw new Error('No option was offered.')
    const { payload } = await scheme.createPaymentPayload(2, {
      ...option,
      network: 'eip155:8453',
      extra: option.extra ?? {},
    })
    const header = Buffer.from(JSON.stringify({ x402Version: 2, accepted: option, payload })).toString('base64')
    const twin = async () => {
      const response = await fetch(`${up.baseUrl}/x402/top-up`, {
        method: 'POST',
        headers: { 'payment-signature': header },
      })
      return `${response.status} ${await response.text()}`
    }
    const twins = new Set(await Promise.all(Array.from({ length: 12 }, twin)))
    expect([...twins]).toEqual([expect.stringMatching(/^200 .*"newBalance":10/)])
    expect(await tokens()).toBe(10_000_000n)
  })

  test('the legacy header names carry the same payment', async () => {
    for (const name of ['x-402-payment', 'x-payment']) {
      const response = await fetch(`${up.baseUrl}/x402/top-up`, { method: 'POST', headers: { [name]: sent } })
      expect([name, response.status, await response.text()]).toEqual([name, 200, firstBody])
    }
  })

  test('the ledger adds up, and nothing was logged as wrong', async () => {
    const audit = await farebox('ledger', 'audit', '--data', up.folder, '--json')
    expect(JSON.parse(audit.stdout)).toMatchObject({ ok: true, driftMicroUsd: '0' })
    expect(up.errors()).toBe('')
  })
})
