/** What became of a payment on Solana, read from what a node says; the node is told here. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { readMessage, wireOf } from '#payments/solana/solana-message.ts'
import type { SolanaCommitment } from '#payments/solana/solana-node.ts'
import { SvmPaymentChain } from '#payments/solana/svm-payment-chain.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import { type Question, type Said, startScriptedNode } from './scripted-node.ts'
import { signedSvmPayment } from './signed-svm-payment.ts'

let made: Awaited<ReturnType<typeof signedSvmPayment>>
let other: SvmPayment
let node: Awaited<ReturnType<typeof startScriptedNode>>

/** What the node knows, by the names of transactions. */
let known: {
  statuses: Map<string, object>
  executed: Map<string, object>
  /** Of the payer's account, the newest first. */
  listed: { signature: string; slot: number }[]
  head: { absoluteSlot: number; blockHeight: number }
  slot: number
  genesis: string
  /** Whether the finalized chain still accepts the payment's blockhash, by a node that has reached this slot. */
  blockhash: { isValid: boolean; slot: number }
  /** The oldest block that the node has. */
  firstBlock: number
  fails: string | null
  /** Happens while the head is asked for. */
  onHead(): void
}

const pageOf = 1_000

function say({ method, params }: Question): Said {
  const [first, second] = params
  if (method === known.fails) return null
  switch (method) {
    case 'getSignatureStatuses': {
      const [signature] = first as string[]
      return { result: { context: { slot: known.slot }, value: [known.statuses.get(signature ?? '') ?? null] } }
    }
    case 'getTransaction':
      return { result: known.executed.get(String(first)) ?? null }
    case 'getEpochInfo':
      known.onHead()
      return { result: known.head }
    case 'getGenesisHash':
      return { result: known.genesis }
    case 'isBlockhashValid': {
      const { isValid, slot } = known.blockhash
      return { result: { context: { slot }, value: isValid } }
    }
    case 'getFirstAvailableBlock':
      return { result: known.firstBlock }
    case 'getSignaturesForAddress': {
      const { before } = second as { before?: string }
      const from = before === undefined ? 0 : known.listed.findIndex(({ signature }) => signature === before) + 1
      return { result: first === made.source ? known.listed.slice(from, from + pageOf) : [] }
    }
    default:
      return { error: { code: -32601, message: method } }
  }
}

beforeAll(async () => {
  made = await signedSvmPayment()
  other = (await signedSvmPayment()).payment
  node = await startScriptedNode(say)
})
afterAll(() => node.close())
beforeEach(() => {
  node.asked.length = 0
  known = {
    ...{ statuses: new Map(), executed: new Map(), listed: [], slot: 5_000, fails: null, onHead: () => undefined },
    head: { absoluteSlot: 5_000, blockHeight: 4_000 },
    genesis: `${solanaNetwork.slice('solana:'.length)}AndMore`,
    ...{ blockhash: { isValid: false, slot: 5_000 }, firstBlock: 0 },
  }
})
afterEach(() => {
  known.fails = null
})

const stranger = '1'.repeat(32)
const name = (number: number) => `name of ${number}`

interface Executed {
  payment?: SvmPayment
  err?: unknown
  blockTime?: number | null
  before?: string
  after?: string
  mint?: string
  account?: string
}

/** A transaction as a node tells it: what was paid is the payee's rise. */
function executed(changes: Executed = {}) {
  const { payment = made.payment, err = null, blockTime = 1_000, before = '1', after = '5000001' } = changes
  const { mint = usdcOnSolana, account = made.payment.destination } = changes
  const message = readMessage(Buffer.from(made.payment.message, 'base64'))
  const balance = (amount: string) => [
    { accountIndex: 99, mint, uiTokenAmount: { amount: '77' } },
    { accountIndex: message?.accounts.indexOf(account), mint, uiTokenAmount: { amount } },
  ]
  return {
    meta: { err, preTokenBalances: balance(before), postTokenBalances: balance(after) },
    transaction: [wireOf(new Uint8Array(64), payment), 'base64'],
    blockTime,
  }
}

interface Asking {
  payment?: SvmPayment
  transaction?: string | null
  commitment?: SolanaCommitment
  chain?: SvmPaymentChain
}
const ownChain = (commitment: SolanaCommitment = 'confirmed') =>
  new SvmPaymentChain({ rpcUrl: node.url, commitment, feePayer: made.feePayer.key })
const othersChain = (searchedTransactions?: number) => {
  const limit = searchedTransactions === undefined ? {} : { searchedTransactions }
  return new SvmPaymentChain({ rpcUrl: node.url, commitment: 'confirmed', feePayer: null, ...limit })
}

async function find({ payment = made.payment, transaction = null, commitment, chain }: Asking = {}): Promise<unknown> {
  const found = (chain ?? ownChain(commitment)).find(payment, transaction)
  return found.catch((error: unknown) => error)
}
const ownName = () => encodeBase58(made.feePayer.key.sign(Buffer.from(made.payment.message, 'base64')))
const claimed = (lastBlockHeight = 4_000) => ({ ...made.payment, lastBlockHeight })
const methods = () => node.asked.map(({ method }) => method)

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

describe('a transaction with another fee payer', () => {
  const put = (number: number, slot: number, payment: SvmPayment, isListed = true) => {
    known.statuses.set(name(number), { err: null, confirmationStatus: 'confirmed' })
    known.executed.set(name(number), executed({ payment }))
    if (isListed) known.listed.push({ signature: name(number), slot })
  }
  const landed = (number: number) => ({
    state: 'landed',
    transaction: name(number),
    amount: 5_000_000n,
    atSeconds: 1_000,
  })
  const chain = () => othersChain()

  test('is the reported one if it is the payment’s', async () => {
    put(1, 4_990, made.payment, false)
    expect(await find({ chain: chain(), transaction: name(1) })).toEqual(landed(1))
    expect(methods()).not.toContain('getSignaturesForAddress')
  })

  test('is searched among its payer’s transactions if another one is reported, or none', async () => {
    put(1, 4_992, other)
    put(2, 4_991, made.payment)
    put(3, 4_990, other)
    expect(await find({ chain: chain(), transaction: name(1) })).toEqual(landed(2))
    expect(await find({ chain: chain() })).toEqual(landed(2))
    expect(node.asked.find(({ method }) => method === 'getSignaturesForAddress')?.params).toEqual([
      made.source,
      { limit: 1_000, commitment: 'confirmed' },
    ])
  })

  test('is open if it is not among them, and over once it can no longer land', async () => {
    put(1, 4_992, other)
    expect(await find({ chain: chain(), payment: claimed() })).toEqual({ state: 'open' })
    known.head.blockHeight = 4_001
    node.asked.length = 0
    expect(await find({ chain: chain(), payment: claimed() })).toEqual({ state: 'over' })
    expect(node.asked.find(({ method }) => method === 'getSignaturesForAddress')?.params[1]).toEqual({
      ...{ limit: 1_000, commitment: 'confirmed', minContextSlot: 5_000 },
    })
  })

  test('is not known where the node lists it and has no status of it, or lists one that it does not have', async () => {
    put(1, 4_990, made.payment)
    known.statuses.clear()
    expect(await find({ chain: chain() })).toBeInstanceOf(ChainUnavailable)
    known.executed.clear()
    expect(await find({ chain: chain() })).toBeInstanceOf(ChainUnavailable)
  })

  test('is searched nearest to its claim first, and no transaction is read twice', async () => {
    // Claimed at slot 4700 of 5000: 300 blocks before its last one.
    const slots = [4_990, 4_702, 4_699, 4_100]
    for (const [index, slot] of slots.entries()) put(index, slot, other)
    const search = othersChain(1)
    known.head.blockHeight = 4_000
    const read = async () => {
      node.asked.length = 0
      const found = await find({ chain: search, payment: claimed() })
      return [
        found instanceof ChainUnavailable,
        ...node.asked.flatMap(({ method, params }) => (method === 'getTransaction' ? [params[0]] : [])),
      ]
    }
    expect([await read(), await read(), await read(), await read(), await read()]).toEqual([
      [true, name(2)],
      [true, name(1)],
      [true, name(0)],
      [false, name(3)],
      [false],
    ])
  })

  test('is searched only as far back as its blockhash can be valid', async () => {
    // 300 blocks since the claim and 150 that a blockhash lives, two slots each, and 9,000 more.
    known.head.absoluteSlot = 20_000
    put(1, 20_000 - 9_900, other)
    put(2, 20_000 - 9_901, made.payment)
    expect(await find({ chain: chain(), payment: claimed() })).toEqual({ state: 'open' })
    put(3, 20_000 - 9_902, other)
    expect(await find({ chain: chain(), payment: made.payment })).toEqual(landed(2))
    for (const each of known.listed) each.slot++
    expect(await find({ chain: chain(), payment: claimed() })).toEqual(landed(2))
  })

  test('is searched page by page', async () => {
    for (let number = 0; number < 1_000; number++) put(number, 4_990, other)
    put(1_000, 4_989, made.payment)
    known.head.absoluteSlot = 4_989
    expect(await find({ chain: othersChain(2) })).toEqual(landed(1_000))
    const pages = node.asked.filter(({ method }) => method === 'getSignaturesForAddress').map(({ params }) => params[1])
    expect(pages).toMatchObject([{ limit: 1_000 }, { before: name(999) }, { before: name(1_000) }])
  })

  test('is not known where its payer did more than is listed', async () => {
    for (let number = 0; number < 20_000; number++) known.listed.push({ signature: name(number), slot: 4_990 })
    expect(await find({ chain: chain() })).toMatchObject({
      cause: { message: expect.stringMatching(/than are listed/) },
    })
    expect(methods().filter(method => method === 'getSignaturesForAddress')).toHaveLength(20)
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
