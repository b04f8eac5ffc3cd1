/** What fails while a Solana payment is settled, and who lies: one credit or none, and never a fresh demand for an unknown outcome. */
import { describe, expect, test } from 'vitest'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'
import { LocalSvmFacilitator } from '#payments/solana/local-svm-facilitator.ts'
import { SolanaKey } from '#payments/solana/solana-key.ts'
import { newSvmAccount, type SvmAccount, type SvmChain } from './svm-chain.ts'
import { expectPaid, five, force, sendTo, statesOf, withFacilitator } from './svm-paying.ts'
import { craft, transferOf } from './svm-transactions.ts'
import { creditOf, openSvmWorld, type SvmWorld, sendSvm, signSvm, svmPayer } from './svm-world.ts'
import { svmWorldForEachTest } from './svm-world-for-each-test.ts'

let chain: SvmChain
let world: SvmWorld
let account: SvmAccount
svmWorldForEachTest(made => {
  chain = made.chain
  world = made.world
  account = made.account
})

describe('an answer that is lost', () => {
  test('19, X5: the chain is asked, and the payment credited, where the answer to a send is lost', async () => {
    world.gate.sends = 'lose-answer'
    expect((await sendSvm(world, await signSvm(world, account))).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('19: a node that stores a transaction later than its status makes the payment wait for a moment', async () => {
    let asked = 0
    world.gate.spoil = method => (method === 'getTransaction' && asked++ < 2 ? null : undefined)
    expect((await sendSvm(world, await signSvm(world, account))).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('19, X5: a transaction that was lost is pending, never a fresh 402, and the same one is sent again later', async () => {
    world.gate.sends = 'lose'
    const payment = await signSvm(world, account)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.error, answer.body.details?.retry]).toEqual([
      500,
      'X402_SETTLEMENT_PENDING',
      'same-payload',
    ])
    expect(answer.headers.get('payment-required')).toBeNull()
    await expectPaid(world, account, 0)
    world.gate.sends = 'pass'
    await world.topUps.completer.complete()
    await expectPaid(world, account, 1)
    expect((await sendSvm(world, payment)).status).toBe(200)
    // Every attempt was the same transaction, so even all of them together could move the money once.
    expect(new Set(world.gate.sent).size).toBe(1)
    await expectPaid(world, account, 1)
  })

  test('X5: a send that broke off may have reached its node, so the refusal of a node that is behind ends nothing', async () => {
    world.gate.sends = 'lose-then-refuse'
    const payment = await signSvm(world, account)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])
    expect(answer.headers.get('payment-required')).toBeNull()
    // The node that broke off has kept the transaction; the other one goes on refusing it.
    await world.topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['unknown'])
    expect(world.gate.sent.length).toBeGreaterThan(1)
    chain.node.send(Buffer.from(world.gate.sent[0] ?? '', 'base64'), true)
    await world.topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['credited'])
    await expectPaid(world, account, 1)
  })

  test('X16: the fee of a transaction that the chain has executed already stays counted', async () => {
    const [left, lamports] = [world.feeBudget.left, chain.lamportsOf(world.feePayer.address)]
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = async stored => {
      force(world, payment)
      return world.facilitator.settle(stored as never)
    }
    await sendTo(withFacilitator(world, { settle }), payment)
    await expectPaid(world, account, 1)
    expect(left - world.feeBudget.left).toBe(lamports - chain.lamportsOf(world.feePayer.address))
  })

  test('X5: a facilitator that settles and then breaks off is not asked for its word', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = async () => {
      force(world, payment)
      throw new Error('connection reset')
    }
    await sendTo(withFacilitator(world, { settle }), payment)
    await expectPaid(world, account, 1)
  })

  test('X6: a payment that was never sent stays unknown until no block can contain it, and then expires', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = () => Promise.reject(new Error('timed out before it was sent'))
    const topUps = withFacilitator(world, { settle })
    await expect(sendTo(topUps, payment)).rejects.toMatchObject({ status: 500 })
    chain.node.slots.advance(200)
    await topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['unknown'])
    chain.node.slots.advance(150)
    await topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['expired'])
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'expired'])
    await expectPaid(world, account, 0)
  })

  test('X6: a node that is behind does not make a payment expire that has landed elsewhere', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = async () => {
      force(world, payment)
      throw new Error('connection reset')
    }
    // It knows neither the transaction nor that the chain has gone on, while its sibling tells how far it is.
    world.gate.spoil = (method, _params, result) =>
      method === 'getSignatureStatuses' ? { ...(result as object), context: { slot: 1 }, value: [null] } : undefined
    const topUps = withFacilitator(world, { settle })
    await expect(sendTo(topUps, payment)).rejects.toMatchObject({ status: 500 })
    chain.node.slots.advance(1_000)
    await topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['unknown'])
    world.gate.spoil = null
    await topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['credited'])
    await expectPaid(world, account, 1)
  })

  test('X10: a transaction that another party submits is credited to its payer', async () => {
    world.gate.sends = 'lose'
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(500)
    // It was sent with our signature, so any party that saw it can submit it.
    const seen = world.gate.sent[0] ?? ''
    chain.node.send(Buffer.from(seen, 'base64'), true)
    expect((await sendSvm(world, payment)).body.data).toMatchObject({
      walletAddress: account.address,
      amountCredited: 5,
    })
    await expectPaid(world, account, 1)
  })
})

describe('a facilitator that lies (X4)', () => {
  const lies: [what: string, transaction: () => Promise<string>][] = [
    ['a transaction that does not exist', async () => '1'.repeat(88)],
    [
      'a transfer of another payer to the payee',
      async () => {
        const other = await svmPayer(world)
        return force(world, await craft(world, other))
      },
    ],
    [
      'a smaller transfer of the same payer',
      async () =>
        force(
          world,
          await craft(world, account, async made => {
            made.instructions[2] = await transferOf(account, world.payee.address, { amount: 1n })
          }),
        ),
    ],
  ]
  test.each(lies)('%s credits nothing', async (_what, transaction) => {
    const settle: Facilitator['settle'] = async () => ({ state: 'settled', transaction: await transaction() })
    const topUps = withFacilitator(world, { settle })
    await expect(sendTo(topUps, await signSvm(world, account))).rejects.toMatchObject({ status: 500 })
    expect(await creditOf(world, account.address)).toBe(0n)
    expect(await statesOf(world)).toEqual(['unknown'])
    expect(world.logged.map(({ message }) => message)).toContain(
      'The chain does not show a payment that the facilitator reports as settled.',
    )
  })
})

describe('what is our own fault', () => {
  test('20: an unreachable node does not make a payment bad; the same header succeeds when it is back', async () => {
    const payment = await signSvm(world, account)
    world.gate.isDown = true
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.error, answer.body.details]).toEqual([
      500,
      'X402_TOP_UP_FAILED',
      { retry: 'same-payload' },
    ])
    expect(await statesOf(world)).toEqual([])
    world.gate.isDown = false
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  const spoilt: [what: string, spoil: SvmWorld['gate']['spoil']][] = [
    ['answers with words', () => 'busy'],
    ['answers with nothing', () => null],
    ['answers with other members', () => ({ value: 1 })],
    ['cannot simulate', method => (method === 'simulateTransaction' ? 'busy' : undefined)],
    ['cannot tell how far the chain is', method => (method === 'getEpochInfo' ? 'busy' : undefined)],
  ]
  test.each(spoilt)('20: a node that %s does not make a payment bad either', async (_what, spoil) => {
    const payment = await signSvm(world, account)
    world.gate.spoil = spoil
    expect((await sendSvm(world, payment)).status).toBe(500)
    world.gate.spoil = null
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('21: a fee payer without SOL is reported to the operator; nothing is claimed, and payments resume by themselves', async () => {
    const poor = await openSvmWorld(chain, { sol: 0n })
    const payment = await signSvm(poor, account)
    expect(await poor.facilitator.problem(poor.option)).toMatch(/has no SOL.*send it some\.$/)
    const answer = await sendSvm(poor, payment)
    expect([answer.status, answer.body.details?.retry]).toEqual([500, 'same-payload'])
    expect(await chain.transfersTo(poor.payee.address)).toEqual([])
    chain.node.airdrop(poor.feePayer.signer.address, 1_000_000_000n)
    expect(await poor.facilitator.problem(poor.option)).toBeNull()
    expect((await sendSvm(poor, payment)).status).toBe(200)
    await poor.dispose()
  })

  test('28: a payee without a token account is reported to the operator, and does not make a payment bad', async () => {
    const unopened = await openSvmWorld(chain, { payeeAccount: false })
    const payment = await signSvm(unopened, account)
    expect(await unopened.facilitator.problem(unopened.option)).toMatch(/has no account for .*open \w+ by sending/)
    const answer = await sendSvm(unopened, payment)
    expect([answer.status, answer.body.details?.retry]).toEqual([500, 'same-payload'])
    await chain.mint(unopened.payee.address, 0n)
    expect(await unopened.facilitator.problem(unopened.option)).toBeNull()
    expect((await sendSvm(unopened, payment)).status).toBe(200)
    await unopened.dispose()
  })

  test('the operator learns of a wrong chain, token or payee in a sentence', async () => {
    const { facilitator, option } = world
    expect(await facilitator.problem({ ...option, network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' })).toMatch(
      /set the RPC URL of the right chain/,
    )
    expect(await facilitator.problem({ ...option, asset: account.address })).toMatch(/no token with 6 decimals/)
    expect(await facilitator.problem({ ...option, payTo: '0xdead' })).toMatch(/cannot receive payments/)
    world.gate.isDown = true
    expect(await facilitator.problem(option)).toMatch(/cannot be reached/)
  })

  test('X16: fees beyond the hour’s cap pause settling and blame no payer', async () => {
    expect(world.feeBudget.count(world.feeBudget.left - 10_000n)).not.toBeNull()
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(500)
    expect(await world.facilitator.problem(world.option)).toBeNull()
    expect(await statesOf(world)).toEqual([])
    world.clock.offsetMs = 2 * 3_600_000
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })

  test('nothing that is logged on the way holds a signature, the signed bytes, a key or the address of the node', async () => {
    world.gate.sends = 'lose'
    const payment = await signSvm(world, account)
    await sendSvm(world, payment)
    world.gate.isDown = true
    await world.topUps.completer.complete()
    await sendSvm(world, await signSvm(world, account))
    const told = JSON.stringify(world.logged)
    expect(world.logged.length).toBeGreaterThan(1)
    for (const secret of [payment.payload.transaction.slice(90, 150), world.feePayer.secretKey, world.gate.url]) {
      expect(told).not.toContain(secret)
    }
  })
})

describe('X11: depth', () => {
  test('a payment waits until the chain cannot drop it, and one that was dropped is not credited', async () => {
    chain.node.slots.finality = { confirmed: 100, finalized: 100 }
    const payment = await signSvm(world, account)
    const stopped = world.compose({ answerWaitMs: 300 })
    await expect(sendTo(stopped, payment)).rejects.toMatchObject({ status: 500 })
    await stopped.close()
    expect(await creditOf(world, account.address)).toBe(0n)
    const waits = 'A payment has too few confirmations so far; it is checked again.'
    expect(world.logged.map(({ message }) => message)).toContain(waits)
    world.gate.spoil = method =>
      method === 'getSignatureStatuses' ? { context: { slot: chain.node.slots.slotAt() }, value: [null] } : undefined
    await world.topUps.completer.complete()
    expect(await statesOf(world)).toEqual(['unknown'])
    world.gate.spoil = null
    chain.node.slots.advance(100)
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(world, account, 1)
  })
})

describe('a fee payer that was replaced', () => {
  test('a payment that was credited before is answered as it was', async () => {
    const payment = await signSvm(world, account)
    const first = await sendSvm(world, payment)
    const option = { ...world.option, extra: { feePayer: (await newSvmAccount()).address } }
    const topUps = world.compose({ settings: { publicUrl: 'http://127.0.0.1', paymentOptions: [option] } })
    expect((await sendTo(topUps, payment)).body).toBe(first.text)
    await expect(sendTo(topUps, await signSvm(world, account))).rejects.toMatchObject({
      body: { details: { reason: 'wrong_fee_payer' } },
    })
  })

  test('a payment of the former one is neither signed nor sent by the new one', async () => {
    const payment = await signSvm(world, account)
    await sendSvm(world, payment)
    const row = await world.opened.store.read.selectFrom('payment').select(['payload']).executeTakeFirstOrThrow()
    const { key: feePayer } = await newSvmAccount()
    const { feeBudget: fees, gate, option } = world
    const facilitator = new LocalSvmFacilitator({ network: option.network, rpcUrl: gate.url, feePayer, fees })
    gate.asked.length = 0
    const stored = JSON.parse(row.payload ?? '')
    expect(await facilitator.verify(stored)).toEqual({ valid: false, reason: 'wrong_fee_payer' })
    expect(await facilitator.settle(stored)).toMatchObject({
      state: 'unsent',
      why: expect.stringMatching(/was replaced/),
    })
    expect(gate.asked).toEqual([])
  })

  test('a payment of the former one is found among the payer’s transactions', async () => {
    const payment = await signSvm(world, account)
    await sendSvm(world, payment)
    const row = await world.opened.store.read.selectFrom('payment').select(['payload']).executeTakeFirstOrThrow()
    const { SvmPaymentChain } = await import('#payments/solana/svm-payment-chain.ts')
    const { secretKey } = await newSvmAccount()
    const feePayer = new SolanaKey(secretKey)
    const other = new SvmPaymentChain({ rpcUrl: world.gate.url, commitment: 'confirmed', feePayer })
    const stored = JSON.parse(row.payload ?? '')
    expect(await other.find(stored, null)).toMatchObject({ state: 'landed', amount: five })
    expect(await other.find(stored, '1'.repeat(88))).toMatchObject({ state: 'landed', amount: five })
    const larger = await craft(world, account, async made => {
      made.instructions[2] = await transferOf(account, world.payee.address, { amount: 6_000_000n })
    })
    expect(await other.find(stored, force(world, larger))).toMatchObject({ state: 'landed', amount: five })
    const unsent = { ...stored, message: Buffer.from(stored.message, 'base64') }
    unsent.message[unsent.message.length - 3] ^= 1
    const absent = { ...stored, message: unsent.message.toString('base64') }
    expect(await other.find(absent, null)).toEqual({ state: 'open' })
    chain.node.slots.advance(1_000)
    expect(await other.find(absent, null)).toEqual({ state: 'over' })
    world.gate.isDown = true
    await expect(other.find(stored, null)).rejects.toBeInstanceOf(ChainUnavailable)
  })
})
