/** When a payment on Solana has ended: the chain decides, whatever the clocks say. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openOwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { SolanaPayload } from '#contract/wire/payment.ts'
import { askChain } from '#local/chain/process.ts'
import { SolanaKey } from '#wallet/keys/keys.ts'
import { noNode } from '#wallet/limits.ts'
import { type SvmChain, startSvmChain } from '../payments/svm-chain.ts'
import { blockhash, fakeNode, payee, solanaKey, solanaOption } from './sample-solana.ts'
import { fakeClock, order, sampleWallet } from './sample-wallet.ts'

/** A chain is a process of its own. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const feeKey = new SolanaKey(Buffer.alloc(32, 9))
const known = { network: solanaNetwork, asset: usdcOnSolana, payTo: payee }
const hourMs = 3_600_000

/** A wallet that has signed a payment which its service did not answer, or refused, and the fixture of its owner. */
async function unanswered(node: string, said: 'nothing' | 'no' = 'nothing', nowMs = Date.now()) {
  const clock = fakeClock(nowMs)
  const sample = await sampleWallet({ payees: [known] }, { key: solanaKey, nodes: { solana: node }, clock })
  onTestFinished(sample.dispose)
  const headers: string[] = []
  const send = async (header: string) => {
    headers.push(header)
    if (said === 'nothing') return { kind: 'unknown' as const, reason: 'no answer' }
    return { kind: 'rejected' as const, status: 402, reason: 'SETTLEMENT_FAILED' }
  }
  await sample.wallet.pay(order({ accepts: [solanaOption()] }), send).catch(() => undefined)
  const [payment] = await sample.wallet.receipts(1)
  const resolve = async (answer: 'left' | 'stayed', nodeUrl: string | undefined = node) => {
    const fixture = openOwnerWallet(sample.folder, { FAREBOX_SOLANA_RPC_URL: nodeUrl })
    try {
      const { state, counts } = await fixture.resolve(payment?.id ?? '', answer === 'left', 'ada')
      return { state, counts }
    } catch (error) {
      return String(error)
    } finally {
      await fixture.close()
    }
  }
  const recover = async () => (await sample.wallet.recover(send))[0]?.state
  return { ...sample, payment, clock, headers, resolve, recover }
}

describe('by the chain itself', () => {
  let chain: SvmChain
  const ask = (method: string, ...params: unknown[]) => askChain(chain.url, method, params)
  beforeAll(async () => {
    chain = await startSvmChain()
    await ask('requestAirdrop', feeKey.address, 1_000_000_000)
    await ask('farebox_mintUsdc', solanaKey.address, '50000000')
    await ask('farebox_mintUsdc', payee, '0')
  })
  afterAll(() => chain.stop())

  /** Signs for the fee, as the service does, and sends. */
  async function settle(header: string): Promise<string> {
    const { transaction } = SolanaPayload.parse(paymentSignature.parse(header)?.payload)
    const wire = Buffer.from(transaction, 'base64')
    wire.set(feeKey.signBytes(wire.subarray(1 + 2 * 64)), 1)
    return String(await ask('sendTransaction', wire.toString('base64'), { encoding: 'base64' }))
  }

  test('a clock that is far ahead ends nothing, and one that stands still holds nothing up', async () => {
    const { resolve, wallet } = await unanswered(chain.url, 'nothing', Date.now() - hourMs)
    expect(await resolve('stayed')).toContain('could still be collected')
    expect(await resolve('left')).toContain('could still be collected')
    expect(await wallet.receipts(1)).toMatchObject([{ state: 'unknown', counts: true }])
    const fresh = await unanswered(chain.url)
    await ask('farebox_advanceBlocks', 160)
    expect(await resolve('stayed')).toEqual({ state: 'dead', counts: false })
    expect(await fresh.resolve('stayed')).toEqual({ state: 'dead', counts: false })
  })

  test('only a height that cannot be undone ends a payment', async () => {
    await ask('farebox_setFinality', 1, 100)
    const { resolve } = await unanswered(chain.url)
    await ask('farebox_advanceBlocks', 100)
    expect(await resolve('stayed')).toContain('could still be collected')
    await ask('farebox_setFinality', 0, 0)
    await ask('farebox_advanceBlocks', 100)
    expect(await resolve('stayed')).toEqual({ state: 'dead', counts: false })
  })

  test('a transfer that the chain has is gone, whatever the user reports', async () => {
    const { resolve, headers, wallet } = await unanswered(chain.url)
    const signature = await settle(headers[0] ?? '')
    await ask('farebox_advanceBlocks', 160)
    expect(await resolve('stayed')).toContain(signature)
    expect(await wallet.receipts(1)).toMatchObject([{ state: 'unknown', counts: true }])
    expect(await resolve('left')).toEqual({ state: 'dead', counts: true })
  })

  test('another payment of the same wallet is not taken for it', async () => {
    const first = await unanswered(chain.url)
    await settle(first.headers[0] ?? '')
    const second = await unanswered(chain.url)
    await ask('farebox_advanceBlocks', 160)
    expect(await second.resolve('stayed')).toEqual({ state: 'dead', counts: false })
  })

  test('a refused payment is given up by the chain too, and is free again', async () => {
    const { recover, clock, wallet } = await unanswered(chain.url, 'no')
    clock.advance(hourMs)
    expect(await recover()).toBe('unknown')
    await ask('farebox_advanceBlocks', 160)
    expect(await recover()).toBe('dead')
    expect(await wallet.receipts(1)).toMatchObject([{ state: 'dead', counts: false }])
  })
})

const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const at = (blockHeight: number) => ({
  getLatestBlockhash: () => ({ value: { blockhash, lastValidBlockHeight: 150 } }),
  getGenesisHash: (): unknown => genesis,
  getEpochInfo: (): unknown => ({ absoluteSlot: blockHeight + 7, blockHeight }),
  getSignaturesForAddress: (_: readonly unknown[]): unknown => [],
})

describe('by what a node says', () => {
  test.each([
    ['within a day', 23, false],
    ['after days, when a node need not know what it was', 25, true],
  ])('what was refused and is in no list %s', async (_when, hours, counts) => {
    const node = await fakeNode(at(151))
    onTestFinished(() => void node.close())
    const { recover, clock, wallet } = await unanswered(node.url, 'no')
    clock.advance(hours * hourMs)
    expect(await recover()).toBe('dead')
    expect(await wallet.receipts(1)).toMatchObject([{ state: 'dead', counts }])
  })

  const never = { state: 'dead', counts: false }
  test.each([
    ['at the last height that its blockhash serves up to', at(150), /could still be collected/],
    ['one above it', at(151), never],
    ['on another chain', { ...at(151), getGenesisHash: () => blockhash }, /belongs to another chain/],
    ['without an answer about transactions', { ...at(151), getSignaturesForAddress: () => 'none' }, /did not answer/],
    ['without an answer about heights', { ...at(151), getEpochInfo: () => ({ blockHeight: '151' }) }, /did not answer/],
  ])('%s', async (_what, answers, expected) => {
    const node = await fakeNode(answers)
    onTestFinished(() => void node.close())
    const { resolve } = await unanswered(node.url)
    const said = await resolve('stayed')
    if (expected instanceof RegExp) expect(said).toMatch(expected)
    else expect(said).toEqual(expected)
    expect(String(said)).not.toContain('secret-of-the-node')
  })

  test('without a node, nothing ends, and a refused payment stays open', async () => {
    const node = await fakeNode(at(100))
    const { resolve, recover, clock } = await unanswered(node.url, 'no')
    expect(await resolve('stayed', noNode)).toMatch(/no node is set.*FAREBOX_SOLANA_RPC_URL/)
    await node.close()
    clock.advance(hourMs)
    expect(await recover()).toBe('unknown')
  })

  const page = (from: number, memo: string | null, err: unknown = null) =>
    Array.from({ length: 50 }, (_, n) => ({
      signature: `s${from + n}`,
      err: n === 49 ? err : null,
      memo: n === 49 ? memo : '[5] other',
      blockTime: Math.floor(Date.now() / 1_000),
    }))
  test.each([
    ['on the second page', null, 'taken'],
    ['where it failed', { InstructionError: [2, 'Custom'] }, 'never'],
  ])('it is looked for as far back as it was made: %s', async (_what, err, kind) => {
    let memo = 'nothing yet'
    const listed = ([, config]: readonly unknown[]) => {
      const { before, minContextSlot } = config as { before?: string; minContextSlot: number }
      expect(minContextSlot).toBe(158)
      if (before === undefined) return page(0, null)
      return before === 's49' ? page(50, `[32] ${memo}`, err) : []
    }
    const node = await fakeNode({ ...at(151), getSignaturesForAddress: listed })
    onTestFinished(() => void node.close())
    const { resolve, payment } = await unanswered(node.url)
    memo = payment?.memo ?? 'none'
    expect(memo).toMatch(/^[0-9a-f]{32}$/)
    if (kind === 'taken') expect(await resolve('stayed')).toContain('s99')
    else expect(await resolve('stayed')).toEqual(never)
  })
})
