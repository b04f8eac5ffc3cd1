/** What became of a payment on Solana, read from what a node says; the node is told here. */
import { describe, expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { readMessage } from '#payments/solana/solana-message.ts'
import type { SolanaCommitment } from '#payments/solana/solana-node.ts'
import {
  claimed,
  type Executed,
  executed,
  find,
  known,
  made,
  methods,
  name,
  node,
  other,
  ownChain,
  stranger,
  tellSolanaForEachTest,
} from './svm-told-node.ts'

tellSolanaForEachTest()

const ownName = () => encodeBase58(made.feePayer.key.sign(Buffer.from(made.payment.message, 'base64')))

describe('a transaction of ours, whose name is known before it is sent,', () => {
  const seen = (depth: string | null | undefined, changes?: Executed) => {
    known.statuses.set(ownName(), { err: null, confirmationStatus: depth })
    known.executed.set(ownName(), executed(changes))
  }
  const landed = () => ({ state: 'landed', transaction: ownName(), amount: 5_000_000n, atSeconds: 1_000 })

  const depths: [depth: string | null | undefined, commitment: SolanaCommitment, isDeep: boolean][] = [
    ['processed', 'confirmed', false],
    ['confirmed', 'confirmed', true],
    ['finalized', 'confirmed', true],
    ['confirmed', 'finalized', false],
    ['finalized', 'finalized', true],
    [null, 'finalized', true],
    [undefined, 'finalized', true],
  ]
  test.each(depths)('that is %s counts where %s is asked for: %j', async (depth, commitment, isDeep) => {
    seen(depth)
    expect(await find({ commitment })).toEqual(isDeep ? landed() : { state: 'unconfirmed' })
  })

  test('is asked for by its name, in the depth that counts, old ones too', async () => {
    seen('confirmed')
    await find()
    expect(node.asked).toEqual([
      { method: 'getSignatureStatuses', params: [[ownName()], { searchTransactionHistory: true }] },
      {
        method: 'getTransaction',
        params: [ownName(), { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 }],
      },
    ])
  })

  const failed = { state: 'void', reason: 'transaction_failed' }
  const contents: [rule: string, changes: Executed, found: () => object][] = [
    ['that came to less counts by what came', { after: '3' }, () => ({ ...landed(), amount: 2n })],
    ['that failed is void', { err: { InstructionError: [0, 'x'] } }, () => failed],
    ['that brought nothing is void', { after: '1' }, () => failed],
    ['that took something is void', { after: '0' }, () => failed],
    ['of another token is void', { mint: stranger }, () => failed],
    ['to another account is void', { account: stranger }, () => failed],
    ['whose time is forgotten has none', { blockTime: null }, () => ({ ...landed(), atSeconds: undefined })],
  ]
  test.each(contents)('%s', async (_rule, changes, found) => {
    seen('finalized', changes)
    expect(await find()).toEqual(found())
  })

  test('to an account that it opened itself brings all of it', async () => {
    seen('finalized')
    const { meta, ...rest } = executed({ after: '5000000' })
    known.executed.set(ownName(), { ...rest, meta: { ...meta, preTokenBalances: null } })
    expect(await find()).toEqual(landed())
  })

  test('that the node does not have yet, though its status, is looked for again', async () => {
    seen('confirmed')
    known.executed.clear()
    expect(await find()).toEqual({ state: 'unconfirmed' })
    known.head.blockHeight = 4_001
    expect(await find({ payment: claimed() })).toEqual({ state: 'unconfirmed' })
  })

  test('that is not a transaction of the payment is missing', async () => {
    seen('confirmed', { payment: other })
    expect(await find()).toEqual({ state: 'open' })
  })

  test('that is nowhere is open, and before its claim nothing more is asked', async () => {
    expect(await find()).toEqual({ state: 'open' })
    expect(methods()).toEqual(['getSignatureStatuses'])
  })

  const ends: [rule: string, blockHeight: number, slot: number, state: string][] = [
    ['is open up to its last block', 4_000, 5_000, 'open'],
    ['is over after it', 4_001, 5_000, 'over'],
    ['is over after it, by a node that is further', 4_001, 5_001, 'over'],
    ['is open where the node that says so is behind', 4_001, 4_999, 'open'],
  ]
  test.each(ends)('that is nowhere %s', async (_rule, blockHeight, slot, state) => {
    known.head.blockHeight = blockHeight
    known.slot = slot
    expect(await find({ payment: claimed() })).toEqual({ state })
    expect(node.asked[1]).toEqual({ method: 'getEpochInfo', params: [{ commitment: 'finalized' }] })
  })

  test('is not over if the node that is far enough has it, and nodes that are behind do not', async () => {
    known.head.blockHeight = 4_001
    seen('finalized')
    known.behind = [1, 3]
    expect(await find({ payment: claimed() })).toEqual({ state: 'open' })
    known.behind = []
    expect(await find({ payment: claimed() })).toEqual(landed())
  })

  test('is open while the chain still accepts its blockhash, however low its last block was reported', async () => {
    known.head.blockHeight = 4_001
    known.blockhash.isValid = true
    expect(await find({ payment: claimed() })).toEqual({ state: 'open' })
    const { blockhash } = readMessage(Buffer.from(made.payment.message, 'base64')) ?? expect.fail()
    expect(node.asked.at(-1)).toEqual({ method: 'isBlockhashValid', params: [blockhash, { commitment: 'finalized' }] })
    known.blockhash = { isValid: false, slot: 4_999 }
    expect(await find({ payment: claimed() })).toEqual({ state: 'open' })
  })

  test('never ends on another chain', async () => {
    known.head.blockHeight = 4_001
    known.genesis = stranger
    const chain = ownChain()
    expect(await find({ payment: claimed(), chain })).toBeInstanceOf(ChainUnavailable)
    known.genesis = `${solanaNetwork.slice('solana:'.length)}AndMore`
    expect(await find({ payment: claimed(), chain })).toEqual({ state: 'over' })
  })

  const kept: [rule: string, firstBlock: number, found: unknown][] = [
    ['is over if the node has the blocks since', 100_000, { state: 'over' }],
    ['has an unknown end if the node has dropped them', 200_000, expect.any(ChainUnavailable)],
  ]
  test.each(kept)('that was claimed days ago %s', async (_rule, firstBlock, found) => {
    // 300,000 blocks after the claim, two slots each.
    known.head = { absoluteSlot: 800_000, blockHeight: 303_700 }
    known.slot = 800_000
    known.blockhash.slot = 800_000
    known.firstBlock = firstBlock
    expect(await find({ payment: claimed() })).toEqual(found)
  })

  test('that lands while its end is asked for is not over', async () => {
    known.head.blockHeight = 4_001
    known.onHead = () => seen('confirmed')
    expect(await find({ payment: claimed() })).toEqual({ state: 'open' })
    expect(methods()).not.toContain('getSignaturesForAddress')
  })

  test('that was reported under another signature is searched by its own', async () => {
    seen('confirmed')
    expect(await find({ transaction: name(1) })).toEqual(landed())
  })
})

test('a payment is given as long as the newest blockhash of this moment, and as much again', async () => {
  expect(await ownChain().dated(made.payment)).toEqual(claimed(4_300))
  expect(node.asked).toEqual([
    { method: 'getGenesisHash', params: [] },
    { method: 'getEpochInfo', params: [{ commitment: 'processed' }] },
  ])
})

test('a payment is not claimed by a node of another chain', async () => {
  known.genesis = stranger
  await expect(ownChain().dated(made.payment)).rejects.toBeInstanceOf(ChainUnavailable)
})

test('if the node breaks off twice, nothing is known, and the cause is reported', async () => {
  known.fails = 'getEpochInfo'
  const failure = await ownChain()
    .dated(made.payment)
    .catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ChainUnavailable)
  expect(failure).toMatchObject({ cause: { name: 'TypeError' } })
  expect(methods()).toEqual(['getGenesisHash', 'getEpochInfo', 'getEpochInfo'])
  known.fails = 'getSignatureStatuses'
  expect(await find()).toMatchObject({ name: 'ChainUnavailable', cause: { name: 'TypeError' } })
})
