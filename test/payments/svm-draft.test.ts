/** What the service drafts for a wallet to sign, and what becomes of a draft that comes back. */
import { expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { SvmDrafts } from '#payments/solana/open-svm.ts'
import { readMessage, readTransaction, readTransfer } from '#payments/solana/solana-message.ts'
import { SolanaRpc } from '#payments/solana/solana-node.ts'
import type { SvmAccount } from './svm-chain.ts'
import { newSvmAccount } from './svm-chain.ts'
import { paymentOf } from './svm-transactions.ts'
import { creditOf, type SvmWorld, sendSvm } from './svm-world.ts'
import { svmWorldForEachTest } from './svm-world-for-each-test.ts'

let world: SvmWorld
let account: SvmAccount
svmWorldForEachTest(made => {
  ;({ world, account } = made)
})

const drafts = () => new SvmDrafts(new SolanaRpc(world.gate.url), world.clock)
const amount = microUsd(7_250_000)
const draft = () => drafts().draft({ payer: account.address, amount, option: world.option })

/** The wallet's signature in the second place, and in the first whatever is there. */
function signed(base64: string, by = account): string {
  const bytes = Buffer.from(base64, 'base64')
  const transaction = readTransaction(bytes)
  bytes.set(by.key.sign(transaction?.message ?? Buffer.alloc(0)), 1 + 64)
  return bytes.toString('base64')
}

const paid = (transaction: string, units: bigint = amount) => {
  const payment = paymentOf(world, transaction)
  return { ...payment, accepted: { ...payment.accepted, amount: `${units}` } }
}

test('a draft makes one transfer of the amount to the payee, and is unsigned', async () => {
  const bytes = Buffer.from(await draft(), 'base64')
  const transaction = readTransaction(bytes)
  const message = transaction && readMessage(transaction.message)
  const transfer = message && readTransfer(message)
  expect(transfer).toMatchObject({
    ...{ feePayer: world.feePayer.address, payer: account.address, amount, mint: world.option.asset, decimals: 6 },
  })
  expect(transaction?.signatures.map(each => Buffer.from(each).toString('hex'))).toEqual([
    '00'.repeat(64),
    '00'.repeat(64),
  ])
})

test('a draft that its wallet signed is settled on the chain and credited once, however often it is sent', async () => {
  const transaction = signed(await draft())
  const [first, again] = [await sendSvm(world, paid(transaction)), await sendSvm(world, paid(transaction))]
  expect([first.status, first.body.data?.amountCredited, again.text]).toEqual([200, 7.25, first.text])
  expect(await world.chain.transfersTo(world.payee.address)).toMatchObject([{ err: null, amount }])
  expect(await creditOf(world, account.address)).toBe(amount)
})

test('two drafts of one amount are two payments', async () => {
  const [one, other] = [await draft(), await draft()]
  expect(one).not.toBe(other)
})

test('drafts of a moment ask the node once', async () => {
  const drafting = drafts()
  world.gate.asked.length = 0
  for (let each = 0; each < 5; each++) await drafting.draft({ payer: account.address, amount, option: world.option })
  expect(world.gate.asked).toEqual(['getLatestBlockhash'])
  world.clock.offsetMs += 3_000
  await drafting.draft({ payer: account.address, amount, option: world.option })
  expect(world.gate.asked).toHaveLength(2)
  // A clock that is set back must not keep a blockhash until it has expired.
  world.clock.offsetMs -= 3_600_000
  await drafting.draft({ payer: account.address, amount, option: world.option })
  expect(world.gate.asked).toHaveLength(3)
})

test.each([
  ['no address', () => 'nobody'],
  ['the fee payer', () => world.feePayer.address],
  ['the payee', () => world.payee.address],
])('nothing is drafted for a payer that is %s', async (_who, payer) => {
  await expect(drafts().draft({ payer: payer(), amount, option: world.option })).rejects.toThrow()
})

test('a draft that was changed on the way is refused: amount, signer, price', async () => {
  const stranger = await newSvmAccount()
  const change = (from: Buffer, to: Buffer) => async () => {
    const hex = Buffer.from(await draft(), 'base64').toString('hex')
    return signed(Buffer.from(hex.replace(from.toString('hex'), to.toString('hex')), 'hex').toString('base64'))
  }
  const uint64 = (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(value)
    return bytes
  }
  const rows: [made: () => Promise<string>, reason: string][] = [
    [change(uint64(amount), uint64(5_000_000n)), 'amount_mismatch'],
    [async () => signed(await draft(), stranger), 'invalid_signature'],
    [
      change(Buffer.concat([Buffer.of(3), uint64(1n)]), Buffer.concat([Buffer.of(3), uint64(2n ** 40n)])),
      'compute_too_high',
    ],
  ]
  for (const [made, reason] of rows) {
    const { status, body } = await sendSvm(world, paid(await made()))
    expect([status, body.details?.reason]).toEqual([400, reason])
  }
  expect(await world.chain.transfersTo(world.payee.address)).toEqual([])
})
