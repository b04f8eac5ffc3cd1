/** How the transaction of a payment is found among its payer’s, read from what a node says; the node is told here. */
import { describe, expect, test } from 'vitest'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import type { SvmPayment } from '#payments/solana/svm-rail.ts'
import {
  claimed,
  executed,
  find,
  known,
  made,
  methods,
  name,
  node,
  other,
  othersChain,
  tellSolanaForEachTest,
} from './svm-told-node.ts'

tellSolanaForEachTest()

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

  test('is found beside transactions of a later version, which no payment has', async () => {
    put(1, 4_991, other)
    put(2, 4_990, made.payment)
    known.later = [name(1)]
    expect(await find({ chain: chain() })).toEqual(landed(2))
    expect(await find({ chain: chain(), transaction: name(1) }), 'one that is reported').toEqual(landed(2))
    known.listed.length = 1
    known.head.blockHeight = 4_001
    expect(await find({ chain: chain(), payment: claimed() })).toEqual({ state: 'over' })
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
