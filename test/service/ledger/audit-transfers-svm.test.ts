/** An audit's requests to a Solana node, and how it interprets the transactions. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { type Payee, svmTransfers, type Transfer } from '#ledger/audit/audit-transfers.ts'
import { type NodeAnswer, scriptedNode } from './scripted-node.ts'

const key = (number: number) => encodeBase58(Buffer.alloc(32, number))
const [account, mint, otherMint] = [key(200), key(201), key(202)]
const payee: Payee = { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', asset: mint, account }
const hourMs = 3_600_000
const sinceMs = 1_700_000_000_000

const shortNumber = (value: number) => (value < 128 ? [value] : [128 | (value & 127), value >> 7])

interface Message {
  keys: string[]
  signatures?: number
  /** Before the header, where it is of a version. */
  version?: number[]
  /** How many have to sign it, as its header says. */
  signers?: number
}

const bytesOf = (base58: string) => {
  const number = Array.from({ length: 256 }, (_, each) => each).find(each => key(each) === base58)
  return Buffer.alloc(32, number)
}

/** What is signed, and the transaction with that many signatures before it. */
function encoded({ keys, signatures = 1, version = [], signers = 1 }: Message) {
  const head = Buffer.from([...version, signers, 0, 1, ...shortNumber(keys.length)])
  const message = Buffer.concat([head, ...keys.map(bytesOf), Buffer.from('the rest')])
  const signed = Buffer.concat([Buffer.from(shortNumber(signatures)), Buffer.alloc(64 * signatures, 9), message])
  return { message, transaction: [signed.toString('base64'), 'base64'] }
}

const balance = (accountIndex: number, amount: number, of = mint) => ({
  ...{ accountIndex, mint: of, uiTokenAmount: { amount: `${amount}` } },
})

interface Executed {
  message: Message
  before?: object[] | null
  after?: object[] | null
  loaded?: { writable: string[]; readonly: string[] }
}

async function read(answer: (method: string, params: readonly unknown[]) => NodeAnswer): Promise<Transfer[]> {
  const found: Transfer[] = []
  for await (const each of svmTransfers(await scriptedNode(answer)).transfers(payee, sinceMs)) found.push(each)
  return found
}

describe('a transaction', () => {
  async function found({ message, before = [], after = [], loaded }: Executed) {
    const { transaction, message: signed } = encoded(message)
    const meta = { preTokenBalances: before, postTokenBalances: after, loadedAddresses: loaded }
    const transfers = await read((method, [signature, config]) => {
      if (method === 'getSignaturesForAddress') return { result: [{ signature: 'one', err: null, blockTime: 1 }] }
      expect([signature, config]).toEqual([
        'one',
        { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ])
      return { result: { meta, transaction } }
    })
    const hash = createHash('sha256').update(signed).digest('hex')
    return { transfers, hash }
  }

  const inPlace = (place: number, keys = place + 1) =>
    Array.from({ length: keys }, (_, each) => (each === place ? account : key(each % 200)))
  const loaded = { writable: [key(1), account], readonly: [key(3), key(4)] }

  const received: [rule: string, executed: Executed][] = [
    ['of the first shape', { message: { keys: inPlace(2) }, before: [balance(2, 3)], after: [balance(2, 10)] }],
    [
      'of a version',
      { message: { keys: inPlace(2), version: [128] }, before: [balance(2, 3)], after: [balance(2, 10)] },
    ],
    ['that opens the account', { message: { keys: inPlace(1) }, before: null, after: [balance(1, 7)] }],
    ['with several signatures', { message: { keys: inPlace(1), signatures: 3 }, after: [balance(1, 7)] }],
    [
      'with more signatures than a byte counts',
      { message: { keys: inPlace(1), signatures: 129 }, after: [balance(1, 7)] },
    ],
    ['with more accounts than a byte counts', { message: { keys: inPlace(129, 131) }, after: [balance(129, 7)] }],
    ['with as many accounts as a byte does not count', { message: { keys: inPlace(0, 128) }, after: [balance(0, 7)] }],
    [
      'that as many sign as the first shape allows',
      { message: { keys: inPlace(1), signers: 127 }, after: [balance(1, 7)] },
    ],
    [
      'whose account is looked up to be written',
      { message: { keys: [key(7), key(8)], version: [128] }, loaded, after: [balance(3, 7)] },
    ],
    [
      'whose account is looked up to be read',
      {
        message: { keys: [key(7)], version: [128] },
        loaded: { writable: [key(1)], readonly: [key(3), account] },
        after: [balance(3, 7)],
      },
    ],
    [
      'that moves others’ tokens and other tokens as well',
      {
        message: { keys: inPlace(1) },
        before: [balance(0, 90), balance(1, 80, otherMint), balance(1, 3)],
        after: [balance(0, 5), balance(1, 1, otherMint), balance(1, 10)],
      },
    ],
  ]
  test.each(received)('%s brings what the account has more than before', async (_rule, executed) => {
    const { transfers, hash } = await found(executed)
    expect(transfers.map(({ transaction, amount }) => [transaction, amount])).toEqual([['one', 7n]])
    expect(await transfers[0]?.paymentKey()).toBe(`svm:${payee.network}:${hash}`)
  })

  const nothing: [rule: string, executed: Executed][] = [
    ['that takes from it', { message: { keys: inPlace(1) }, before: [balance(1, 9)], after: [balance(1, 2)] }],
    ['that leaves it as it was', { message: { keys: inPlace(1) }, before: [balance(1, 9)], after: [balance(1, 9)] }],
    ['of another token alone', { message: { keys: inPlace(1) }, after: [balance(1, 7, otherMint)] }],
    ['that brings the token to others', { message: { keys: inPlace(1) }, after: [balance(0, 7)] }],
    ['that does not name it', { message: { keys: [key(1), key(2)] }, after: [balance(0, 7)] }],
    ['without any tokens', { message: { keys: inPlace(1) }, before: null, after: null }],
  ]
  test.each(nothing)('%s brings nothing', async (_rule, executed) => {
    expect((await found(executed)).transfers).toEqual([])
  })

  test.each([
    ['brings what the account has more than before', 10, [['one', 7n, null]]],
    ['brings nothing if the account has less', 2, []],
  ])('of a later version, which no payment has, %s', async (_rule, after, brought) => {
    const meta = { preTokenBalances: [balance(1, 3)], postTokenBalances: [balance(1, after)] }
    const transfers = await read((method, [, config]) => {
      if (method === 'getSignaturesForAddress') return { result: [{ signature: 'one', err: null, blockTime: 1 }] }
      const { encoding, maxSupportedTransactionVersion } = config as Record<string, unknown>
      if (maxSupportedTransactionVersion === 0) return { error: { code: -32015 } }
      expect(encoding).toBe('json')
      return { result: { meta, transaction: { message: { accountKeys: [key(7), account] } } } }
    })
    const seen = transfers.map(async each => [each.transaction, each.amount, await each.paymentKey()])
    expect(await Promise.all(seen)).toEqual(brought)
  })

  test('that the node lists and does not have ends the audit', async () => {
    const reading = read(method => ({
      result: method === 'getTransaction' ? null : [{ signature: 'one', err: null, blockTime: 1 }],
    }))
    await expect(reading).rejects.toMatchObject({
      ...{ name: 'NodeFailed', message: 'The node lists a transaction that it does not have.', refused: true },
    })
  })
})

describe('the list of transactions', () => {
  interface Listed {
    signature: string
    err: object | null
    blockTime?: number | null
  }
  /** A page as long as any, of transactions that failed but for its first, and whose last is of that time. */
  const full = (page: number, blockTime?: number | null): Listed[] =>
    Array.from({ length: 1_000 }, (_, place) => ({
      ...{ signature: `${page}-${place}`, err: place === 0 ? null : { failed: true } },
      ...(place === 999 ? { blockTime } : { blockTime: 1 }),
    }))

  /** Goes through these pages, and answers which transactions were asked for, and from where on each page was. */
  async function asked(pages: Listed[][]) {
    const { transaction } = encoded({ keys: [account] })
    const meta = { preTokenBalances: [], postTokenBalances: [balance(0, 7)] }
    const before: unknown[] = []
    const transfers = await read((method, [of, config]) => {
      if (method === 'getTransaction') return { result: { meta, transaction } }
      const { before: from, ...rest } = config as { before?: string }
      expect([of, rest]).toEqual([account, { limit: 1_000, commitment: 'confirmed' }])
      before.push(from)
      return { result: pages[before.length - 1] }
    })
    return { found: transfers.map(each => each.transaction), before }
  }

  const early = (sinceMs - hourMs) / 1_000
  const rules: [rule: string, pages: Listed[][], found: string[], before: (string | undefined)[]][] = [
    ['that is empty is all', [[]], [], [undefined]],
    ['of one page is all', [[{ signature: 'a', err: null }]], ['a'], [undefined]],
    [
      'of a full page goes on after its last, whatever it holds',
      [full(0, early), [{ signature: 'a', err: null }]],
      ['0-0', 'a'],
      [undefined, '0-999'],
    ],
    [
      'whose last page is full ends with an empty one',
      [full(0, early), full(1, early), []],
      ['0-0', '1-0'],
      [undefined, '0-999', '1-999'],
    ],
    ['without times goes on', [full(0, null), full(1), []], ['0-0', '1-0'], [undefined, '0-999', '1-999']],
    ['that is older than an hour before the first payment ends', [full(0, early - 1), full(1)], ['0-0'], [undefined]],
  ]
  test.each(rules)('%s', async (_rule, pages, found, before) => {
    expect(await asked(pages)).toEqual({ found, before })
  })
})
