/** What the owner's own Base node shows: the wallet's balance, and that a refused payment can no longer be collected. */
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import type { Send } from '#wallet/payment/send-payment.ts'
import type { PolicySettings } from '#wallet/rules/policy.ts'
import { newAccount, startTestChain, type TestChain, tokenName } from '../payments/test-chain.ts'
import { fakeNode, solanaKey, solanaOption, tokenAccount } from './sample-solana.ts'
import { credited, fakeClock, option, order, readHeader, sampleWallet, usd } from './sample-wallet.ts'

/** A chain is a process of its own. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const refusalOf = (paying: Promise<unknown>): Promise<unknown> =>
  paying.then(
    () => 'paid',
    (error: { rule?: string }) => error.rule,
  )

const no: Send = async () => ({ kind: 'rejected', status: 400, reason: 'insufficient_funds' })
const offered = (name = tokenName) => order({ accepts: [option({ extra: { name, version: '2' } })] })

let chain: TestChain
beforeAll(async () => {
  chain = await startTestChain()
})
afterAll(() => chain.stop())

const chainNowMs = async (): Promise<number> => {
  const { timestamp } = (await chain.ask('eth_getBlockByNumber', ['latest', false])) as { timestamp: Hex }
  return Number(timestamp) * 1_000
}

/** Makes a block so much later. */
async function passSeconds(seconds: number): Promise<void> {
  await chain.ask('evm_increaseTime', [seconds])
  await chain.ask('evm_mine')
}

/** A wallet of its own that holds so much, by the clock of the chain. */
async function walletWith(microUsd: bigint, settings: Partial<PolicySettings> = {}, nodeUrl = chain.url) {
  const key = await keyFromHex(newKey())
  if (microUsd > 0n) await chain.mint(key.address, microUsd)
  const clock = fakeClock(await chainNowMs())
  const sample = await sampleWallet(settings, { key, clock, nodes: { eip155: nodeUrl } })
  onTestFinished(sample.dispose)
  return { ...sample, clock, address: key.address }
}

const newKey = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')

const lifeSeconds = 300
const marginSeconds = 120

describe('what the wallet does not hold is not signed', () => {
  test('an empty wallet reserves nothing, says what is missing, and pays once it is there', async () => {
    const { wallet, address } = await walletWith(0n)
    const refusal = await wallet.pay(offered(), no).catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      rule: 'funds',
      sentence: expect.stringContaining('holds 0.00 USDC.'),
      nextStep: expect.stringContaining(`at least 5 to ${address} on Base`),
    })
    expect(await wallet.receipts(1)).toEqual([])
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: 0n, openPayments: [] })
    await chain.mint(address, 4_999_999n)
    expect(await refusalOf(wallet.pay(offered(), no))).toBe('funds')
    await chain.mint(address, 1n)
    await wallet.pay(offered(), async () => credited(address, 5_000_000n))
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: usd(5), reservedDayMicroUsd: 0n })
  })

  test.each([
    ['a cap', { maxDayUsd: '4' }, 'max-day'],
    ['a dry run', { dryRun: true }, 'dry-run'],
  ] as const)('%s is told first', async (_, settings, rule) => {
    const { wallet } = await walletWith(0n, settings)
    expect(await refusalOf(wallet.pay(offered(), no))).toBe(rule)
  })

  test('a payee that could not be paid asks for no approval', async () => {
    const { wallet } = await walletWith(0n, { payees: [] })
    expect(await refusalOf(wallet.pay(offered(), no))).toBe('funds')
    expect(await wallet.approvals.list('pending')).toEqual([])
  })

  test.each([
    ['one of another chain', { eth_call: () => `0x${'0'.repeat(64)}`, eth_chainId: () => '0x1' }],
    ['one that does not say which chain it is of', { eth_call: () => `0x${'0'.repeat(64)}` }],
    ['one that does not answer', {}],
  ])('a node refuses nothing where it is %s', async (_, answers) => {
    const node = await fakeNode(answers)
    onTestFinished(() => void node.close())
    const { wallet, address } = await walletWith(0n, {}, node.url)
    await wallet.pay(offered(), async () => credited(address, 5_000_000n))
    expect(await wallet.receipts(1)).toMatchObject([{ state: 'confirmed' }])
  })

  test('on Solana too', async () => {
    const getGenesisHash = () => '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
    const node = await fakeNode({ getAccountInfo: tokenAccount(1n), getGenesisHash })
    onTestFinished(() => void node.close())
    const sample = await sampleWallet({ payees: [] }, { key: solanaKey, nodes: { solana: node.url } })
    onTestFinished(sample.dispose)
    expect(await refusalOf(sample.wallet.pay(order({ accepts: [solanaOption()] }), no))).toBe('funds')
  })
})

describe('a refused payment', () => {
  /** Refused by its service while it could be collected. */
  async function refused(name = tokenName) {
    const sample = await walletWith(10_000_000n)
    const headers: string[] = []
    const send: Send = async header => {
      headers.push(header)
      return no(header)
    }
    await refusalOf(sample.wallet.pay(offered(name), send))
    const recovered = async () => {
      const [payment] = await sample.wallet.recover(no)
      return payment ? [payment.state, payment.counts] : null
    }
    return { ...sample, headers, recovered }
  }

  test('is reserved and not paid, and free again once no block can take it any more', async () => {
    const { wallet, recovered, clock } = await refused()
    const reserved = { spentDayMicroUsd: usd(5), reservedDayMicroUsd: usd(5), reservedTotalMicroUsd: usd(5) }
    expect(await wallet.status()).toMatchObject(reserved)
    // Whatever our own clock says.
    clock.advance(3_600_000)
    await passSeconds(lifeSeconds + marginSeconds - 5)
    expect(await recovered()).toEqual(['unknown', true])
    await passSeconds(60)
    expect(await recovered()).toEqual(['dead', false])
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: 0n, reservedDayMicroUsd: 0n, heldPayments: [] })
  })

  test('that was taken all the same counts, whatever its service says', async () => {
    const { wallet, recovered, headers } = await refused()
    const { authorization, signature } = readHeader(headers[0] ?? '')
    const { from, to, value, validAfter, validBefore, nonce } = authorization
    const collector = newAccount().address
    await chain.fund(collector)
    const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature] as never
    await chain.sendAs(collector, encodeFunctionData({ abi: usdcAbi, functionName: 'transferWithAuthorization', args }))
    await passSeconds(lifeSeconds + marginSeconds + 60)
    expect(await recovered()).toEqual(['dead', true])
    expect(await wallet.status()).toMatchObject({ spentDayMicroUsd: usd(5), heldPayments: [{}] })
  })

  test('counts where the node holds another token than the one that was signed for', async () => {
    const { recovered, clock } = await refused('USD Coin')
    await passSeconds(lifeSeconds + marginSeconds + 60)
    expect(await recovered()).toEqual(['unknown', true])
    clock.advance((lifeSeconds + 601) * 1_000)
    expect(await recovered()).toEqual(['dead', true])
  })
})
