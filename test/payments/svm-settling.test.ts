/** Attacks on the settling of a Solana payment: one credit, or none, and what the chain says. */
import { describe, expect, test } from 'vitest'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { newSvmAccount, type SvmAccount, type SvmChain } from './svm-chain.ts'
import { drain, expectPaid, five, force, sendTo, statesOf, withFacilitator } from './svm-paying.ts'
import { compile, craft, draftOf, memo, paymentOf, rewrite } from './svm-transactions.ts'
import { creditOf, type SvmWorld, sendSvm, signSvm, svmPayer } from './svm-world.ts'
import { svmWorldForEachTest } from './svm-world-for-each-test.ts'
import { encode, type Loose } from './top-up-world.ts'

let chain: SvmChain
let world: SvmWorld
let account: SvmAccount
svmWorldForEachTest(made => {
  chain = made.chain
  world = made.world
  account = made.account
})

describe('the same payment again', () => {
  test('1: a replay of the same header is answered the same, byte for byte, and credits nothing', async () => {
    const payment = await signSvm(world, account)
    const first = await sendSvm(world, payment)
    expect(first.status).toBe(200)
    const again = await sendSvm(world, payment)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    await expectPaid(world, account, 1)
  })

  test('3: a ledger that lost the payment finds its transaction by the signature that it would make, and credits it once', async () => {
    const payment = await signSvm(world, account)
    force(world, payment)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.data?.amountCredited]).toEqual([200, 5])
    expect(world.gate.sent).toEqual([])
    await expectPaid(world, account, 1)
  })

  test('4, X1: ten twins at once get ten identical answers and make one transaction', async () => {
    const payment = await signSvm(world, account)
    const answers = await Promise.all(Array.from({ length: 10 }, () => sendSvm(world, payment)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(world.gate.sent).toHaveLength(1)
    await expectPaid(world, account, 1)
  })

  test('6, X1: two processes of the same ledger that settle one transaction make one credit', async () => {
    const payment = await signSvm(world, account)
    const doors = [world.topUps, world.compose(), world.compose(), world.compose()]
    const answers = await Promise.all(doors.map(topUps => sendTo(topUps, payment)))
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    await expectPaid(world, account, 1)
  })

  test('7, X2: any bytes in the place of the fee payer’s signature are the same payment', async () => {
    const payment = await signSvm(world, account)
    const first = await sendSvm(
      world,
      rewrite(payment, bytes => void bytes.fill(7, 1, 65)),
    )
    expect(first.status).toBe(200)
    for (const filling of [0, 1, 255]) {
      const spelt = rewrite(payment, bytes => void bytes.fill(filling, 1, 65))
      expect((await sendSvm(world, spelt)).text).toBe(first.text)
    }
    await expectPaid(world, account, 1)
  })

  test.each([
    [
      'members in another order',
      (it: Loose) => JSON.stringify(Object.fromEntries(Object.entries(it).reverse()), null, 2),
    ],
    ['unrequested members', (it: Loose) => JSON.stringify({ ...it, note: 'x', extensions: { a: 1 } })],
    [
      'the older flat form',
      ({ payload }: Loose) => JSON.stringify({ x402Version: 2, scheme: 'exact', network: 'solana', payload }),
    ],
  ])('X2: %s are another spelling of the same payment', async (_what, write) => {
    const payment = await signSvm(world, account)
    const text = Buffer.from(write(payment)).toString('base64url')
    const first = await sendSvm(world, text)
    expect(first.status).toBe(200)
    expect((await sendSvm(world, payment)).text).toBe(first.text)
    await expectPaid(world, account, 1)
  })

  test('X2: a known payment’s message without the payer’s signature gets no answer', async () => {
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(200)
    const answer = await sendSvm(
      world,
      rewrite(payment, bytes => void bytes.fill(3, 65, 129)),
    )
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'invalid_signature'])
  })

  test('two payments of one payer with one blockhash are two, by their memos', async () => {
    await Promise.all([sendSvm(world, await craft(world, account)), sendSvm(world, await craft(world, account))])
    await expectPaid(world, account, 2)
  })

  test('X13: the same payment in two headers is one', async () => {
    const payment = await signSvm(world, account)
    const answer = await sendSvm(world, payment, { headers: { 'X-PAYMENT': encode(payment) } })
    expect(answer.status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('a legacy message is taken as one of version 0 is, with a memo that the payer signs, and with neither memo nor price', async () => {
    const made = await draftOf(world, account)
    made.version = 'legacy'
    made.instructions.splice(3, 1, memo('x', [{ address: account.signer.address, role: 2 }]))
    expect((await sendSvm(world, paymentOf(world, compile(made)))).status).toBe(200)
    const bare = await craft(world, account, it => it.instructions.splice(3, 1) && it.instructions.splice(1, 1))
    expect((await sendSvm(world, bare)).status).toBe(200)
    await expectPaid(world, account, 2)
  })
})

describe('whose payment it is', () => {
  test('15: a client’s `extra` is ignored; the option is ours', async () => {
    const payment = await signSvm(world, account)
    payment.accepted.extra = { feePayer: account.address, name: 'Other', memo: 'x' }
    payment.accepted.maxTimeoutSeconds = 1
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('34, X12: the credit goes to the signer, whatever the body and the payment say', async () => {
    const other = await newSvmAccount()
    const payment = { ...(await signSvm(world, account)), payer: other.address, walletAddress: other.address }
    const body = JSON.stringify({ walletAddress: other.address })
    const answer = await sendSvm(world, payment, { body, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.data?.walletAddress]).toEqual([200, account.address])
    expect(await creditOf(world, other.address)).toBe(0n)
    await expectPaid(world, account, 1)
  })
})

describe('a payer who cannot pay', () => {
  test.each([
    ['no account of the token', 0n],
    ['one base unit too little', 4_999_999n],
  ])('16: %s is refused before anything is sent, and passes once there is enough', async (_what, microUsd) => {
    account = await svmPayer(world, microUsd)
    const payment = await craft(world, account)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'insufficient_funds'])
    expect(world.gate.sent).toEqual([])
    await expectPaid(world, account, 0)
    await chain.mint(account.address, five)
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('17: a payer who empties the wallet between check and settlement is refused, and costs us no fee', async () => {
    const settle: Facilitator['settle'] = async payment => {
      await drain(world, account)
      return world.facilitator.settle(payment as never)
    }
    const before = chain.lamportsOf(world.feePayer.address)
    const topUps = withFacilitator(world, { settle })
    const asked = sendTo(topUps, await signSvm(world, account))
    await expect(asked).rejects.toMatchObject({ status: 400, body: { details: { reason: 'insufficient_funds' } } })
    expect(chain.lamportsOf(world.feePayer.address)).toBe(before)
    expect(await statesOf(world)).toEqual(['rejected'])
    expect(await creditOf(world, account.address)).toBe(0n)
  })

  test('17, X4: a transaction that failed on the chain cost us a fee, and credits nothing, then or later', async () => {
    const payment = await signSvm(world, account)
    const before = chain.lamportsOf(world.feePayer.address)
    const settle: Facilitator['settle'] = async () => {
      await drain(world, account)
      return { state: 'settled', transaction: force(world, payment) }
    }
    const topUps = withFacilitator(world, { settle })
    await expect(sendTo(topUps, payment)).rejects.toMatchObject({
      status: 400,
      body: { details: { reason: 'transaction_failed' } },
    })
    expect(before - chain.lamportsOf(world.feePayer.address)).toBe(10_001n)
    await chain.mint(account.address, five)
    const again = await sendSvm(world, payment)
    expect([again.status, again.body.details?.reason]).toEqual([400, 'transaction_failed'])
    expect((await chain.transfersTo(world.payee.address)).map(({ amount }) => amount)).toEqual([0n])
    expect(await creditOf(world, account.address)).toBe(0n)
  })

  test('27, X9: a blockhash that the chain has forgotten is expired', async () => {
    const payment = await signSvm(world, account)
    chain.node.slots.advance(151)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'expired'])
    await expectPaid(world, account, 0)
  })

  test('27: a blockhash of another chain is expired', async () => {
    const payment = await craft(world, account, made => {
      made.blockhash = world.payee.address
    })
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'expired'])
    await expectPaid(world, account, 0)
  })
})
