/** Attacks on how a Solana payment is settled, and what fails on the way: one credit, or none, and what the chain says. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ChainUnavailable } from '#service/payments/chain-unavailable.ts'
import type { Facilitator } from '#service/payments/facilitator.ts'
import { SolanaKey } from '#service/payments/solana-key.ts'
import { newSvmAccount, type SvmAccount, type SvmChain, startSvmChain } from './svm-chain.ts'
import { compile, craft, draftOf, memo, paymentOf, rewrite, transferOf } from './svm-transactions.ts'
import { creditOf, openSvmWorld, type SvmWorld, sendSvm, signSvm, svmPayer } from './svm-world.ts'
import { encode, type Loose } from './top-up-world.ts'

let chain: SvmChain
let world: SvmWorld
let account: SvmAccount
beforeAll(async () => {
  chain = await startSvmChain()
})
afterAll(() => chain.stop())
beforeEach(async () => {
  world = await openSvmWorld(chain)
  account = await svmPayer(world)
})
afterEach(async () => {
  chain.node.slots.finality = { confirmed: 0, finalized: 0 }
  await world.dispose()
})

const five = 5_000_000n

/** So many transfers of 5 USD have reached the payee, none has failed, and the payer has credit for as many. */
async function expectPaid(times: number): Promise<void> {
  const transfers = await chain.transfersTo(world.payee.address)
  expect(transfers.map(({ err, amount }) => [err, amount])).toEqual(Array.from({ length: times }, () => [null, five]))
  expect(await creditOf(world, account.address)).toBe(five * BigInt(times))
}

const stateOf = async () => {
  const rows = await world.opened.store.read.selectFrom('payment').select(['state']).execute()
  return rows.map(({ state }) => state)
}

/** Another process of the same books. */
const sendTo = async (topUps: SvmWorld['topUps'], payment: unknown) => {
  const header = (name: string) => (name.toLowerCase() === 'payment-signature' ? [encode(payment)] : [])
  return topUps.topUp({ header, address: '127.0.0.1', count: async () => {} })
}

const withFacilitator = (changes: Partial<Facilitator>): Facilitator => ({
  verify: payment => world.facilitator.verify(payment as never),
  settle: payment => world.facilitator.settle(payment as never),
  supported: () => world.facilitator.supported(),
  problem: option => world.facilitator.problem(option),
  ...changes,
})

/** Signs as the fee payer and puts it on the chain without asking whether it can succeed. */
function force(payment: Loose): string {
  const bytes = Buffer.from(payment.payload.transaction, 'base64')
  world.feePayer.key.sign(bytes.subarray(129)).forEach((byte, place) => {
    bytes[1 + place] = byte
  })
  return chain.node.send(bytes, false)
}

/** The payer's tokens go to somebody else. */
async function drain(): Promise<void> {
  const to = await newSvmAccount()
  await chain.mint(to.address, 0n)
  chain.node.airdrop(account.signer.address, 10_000_000n)
  const made = await draftOf(world, account)
  made.feePayer = account.address
  made.instructions = [await transferOf(account, to.address, { amount: await chain.usdcOf(account.address) })]
  chain.node.send(Buffer.from(compile(made), 'base64'), true)
}

describe('the same payment again', () => {
  test('1: a replay of the same header is answered the same, byte for byte, and credits nothing', async () => {
    const payment = await signSvm(world, account)
    const first = await sendSvm(world, payment)
    expect(first.status).toBe(200)
    const again = await sendSvm(world, payment)
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    await expectPaid(1)
  })

  test('3: books that lost the payment find its transaction by the signature that they would make, and credit it once', async () => {
    const payment = await signSvm(world, account)
    force(payment)
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.data?.amountCredited]).toEqual([200, 5])
    expect(world.gate.sent).toEqual([])
    await expectPaid(1)
  })

  test('4, X1: ten twins at once get ten identical answers and make one transaction', async () => {
    const payment = await signSvm(world, account)
    const answers = await Promise.all(Array.from({ length: 10 }, () => sendSvm(world, payment)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(world.gate.sent).toHaveLength(1)
    await expectPaid(1)
  })

  test('6, X1: two processes of the same books that settle one transaction make one credit', async () => {
    const payment = await signSvm(world, account)
    const doors = [world.topUps, world.compose(), world.compose(), world.compose()]
    const answers = await Promise.all(doors.map(topUps => sendTo(topUps, payment)))
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    await expectPaid(1)
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
    await expectPaid(1)
  })

  test.each([
    [
      'members in another order',
      (it: Loose) => JSON.stringify(Object.fromEntries(Object.entries(it).reverse()), null, 2),
    ],
    ['members that nobody asked for', (it: Loose) => JSON.stringify({ ...it, note: 'x', extensions: { a: 1 } })],
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
    await expectPaid(1)
  })

  test('two payments of one payer with one blockhash are two, by their memos', async () => {
    await Promise.all([sendSvm(world, await craft(world, account)), sendSvm(world, await craft(world, account))])
    await expectPaid(2)
  })

  test('X13: the same payment in two headers is one', async () => {
    const payment = await signSvm(world, account)
    const answer = await sendSvm(world, payment, { headers: { 'X-PAYMENT': encode(payment) } })
    expect(answer.status).toBe(200)
    await expectPaid(1)
  })

  test('a legacy message is taken as one of version 0 is, with a memo that the payer signs, and with neither memo nor price', async () => {
    const made = await draftOf(world, account)
    made.version = 'legacy'
    made.instructions.splice(3, 1, memo('x', [{ address: account.signer.address, role: 2 }]))
    expect((await sendSvm(world, paymentOf(world, compile(made)))).status).toBe(200)
    const bare = await craft(world, account, it => it.instructions.splice(3, 1) && it.instructions.splice(1, 1))
    expect((await sendSvm(world, bare)).status).toBe(200)
    await expectPaid(2)
  })
})

describe('whose payment it is', () => {
  test('15: what a client puts into extra is not looked at; the option is ours', async () => {
    const payment = await signSvm(world, account)
    payment.accepted.extra = { feePayer: account.address, name: 'Other', memo: 'x' }
    payment.accepted.maxTimeoutSeconds = 1
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
  })

  test('34, X12: the credit goes to whoever signed, whatever the body and the payment say', async () => {
    const other = await newSvmAccount()
    const payment = { ...(await signSvm(world, account)), payer: other.address, walletAddress: other.address }
    const body = JSON.stringify({ walletAddress: other.address })
    const answer = await sendSvm(world, payment, { body, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.body.data?.walletAddress]).toEqual([200, account.address])
    expect(await creditOf(world, other.address)).toBe(0n)
    await expectPaid(1)
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
    await expectPaid(0)
    await chain.mint(account.address, five)
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
  })

  test('17: who empties the wallet between check and settlement is refused, and costs us no fee', async () => {
    const settle: Facilitator['settle'] = async payment => {
      await drain()
      return world.facilitator.settle(payment as never)
    }
    const before = chain.lamportsOf(world.feePayer.address)
    const topUps = world.compose({ facilitator: withFacilitator({ settle }) })
    const asked = sendTo(topUps, await signSvm(world, account))
    await expect(asked).rejects.toMatchObject({ status: 400, body: { details: { reason: 'insufficient_funds' } } })
    expect(chain.lamportsOf(world.feePayer.address)).toBe(before)
    expect(await stateOf()).toEqual(['rejected'])
    expect(await creditOf(world, account.address)).toBe(0n)
  })

  test('17, X4: a transaction that failed on the chain cost us a fee, and credits nothing, then or later', async () => {
    const payment = await signSvm(world, account)
    const before = chain.lamportsOf(world.feePayer.address)
    const settle: Facilitator['settle'] = async () => {
      await drain()
      return { state: 'settled', transaction: force(payment) }
    }
    const topUps = world.compose({ facilitator: withFacilitator({ settle }) })
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
    await expectPaid(0)
  })

  test('27: a blockhash of another chain is expired', async () => {
    const payment = await craft(world, account, made => {
      made.blockhash = world.payee.address
    })
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'expired'])
    await expectPaid(0)
  })
})

describe('an answer that is lost', () => {
  test('19, X5: the chain is asked, and the payment credited, where the answer to a send is lost', async () => {
    world.gate.sends = 'lose-answer'
    expect((await sendSvm(world, await signSvm(world, account))).status).toBe(200)
    await expectPaid(1)
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
    await expectPaid(0)
    world.gate.sends = 'pass'
    await world.topUps.completer.complete()
    await expectPaid(1)
    expect((await sendSvm(world, payment)).status).toBe(200)
    // Every attempt was the same transaction, so even all of them together could move the money once.
    expect(new Set(world.gate.sent).size).toBe(1)
    await expectPaid(1)
  }, 30_000)

  test('X5: a facilitator that settles and then breaks off is not asked for its word', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = async () => {
      force(payment)
      throw new Error('connection reset')
    }
    await sendTo(world.compose({ facilitator: withFacilitator({ settle }) }), payment)
    await expectPaid(1)
  })

  test('X6, I12: what was never sent stays unknown until no block can hold it any more, and then it is expired', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = () => Promise.reject(new Error('timed out before it was sent'))
    const topUps = world.compose({ facilitator: withFacilitator({ settle }) })
    await expect(sendTo(topUps, payment)).rejects.toMatchObject({ status: 500 })
    chain.node.slots.advance(200)
    await topUps.completer.complete()
    expect(await stateOf()).toEqual(['unknown'])
    chain.node.slots.advance(150)
    await topUps.completer.complete()
    expect(await stateOf()).toEqual(['expired'])
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.details?.reason]).toEqual([400, 'expired'])
    await expectPaid(0)
  })

  test('X6: a node that is behind does not make a payment expire that has landed elsewhere', async () => {
    const payment = await signSvm(world, account)
    const settle: Facilitator['settle'] = async () => {
      force(payment)
      throw new Error('connection reset')
    }
    // It knows neither the transaction nor that the chain has gone on, while its sibling tells how far it is.
    world.gate.spoil = (method, _params, result) =>
      method === 'getSignatureStatuses' ? { ...(result as object), context: { slot: 1 }, value: [null] } : undefined
    const topUps = world.compose({ facilitator: withFacilitator({ settle }) })
    await expect(sendTo(topUps, payment)).rejects.toMatchObject({ status: 500 })
    chain.node.slots.advance(1_000)
    await topUps.completer.complete()
    expect(await stateOf()).toEqual(['unknown'])
    world.gate.spoil = null
    await topUps.completer.complete()
    expect(await stateOf()).toEqual(['credited'])
    await expectPaid(1)
  }, 30_000)

  test('X10: a transaction that somebody else brings to the chain is credited to its payer', async () => {
    world.gate.sends = 'lose'
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(500)
    // It left us with our signature, so whoever saw it can send it.
    const seen = world.gate.sent[0] ?? ''
    chain.node.send(Buffer.from(seen, 'base64'), true)
    expect((await sendSvm(world, payment)).body.data).toMatchObject({
      walletAddress: account.address,
      amountCredited: 5,
    })
    await expectPaid(1)
  }, 30_000)
})

describe('a facilitator that lies (X4)', () => {
  const lies: [what: string, transaction: () => Promise<string>][] = [
    ['a transaction that does not exist', async () => '1'.repeat(88)],
    [
      'a transfer of somebody else to the payee',
      async () => {
        const other = await svmPayer(world)
        return force(await craft(world, other))
      },
    ],
    [
      'a smaller transfer of the same payer',
      async () =>
        force(
          await craft(world, account, async made => {
            made.instructions[2] = await transferOf(account, world.payee.address, { amount: 1n })
          }),
        ),
    ],
  ]
  test.each(lies)('%s credits nothing', async (_what, transaction) => {
    const settle: Facilitator['settle'] = async () => ({ state: 'settled', transaction: await transaction() })
    const topUps = world.compose({ facilitator: withFacilitator({ settle }) })
    await expect(sendTo(topUps, await signSvm(world, account))).rejects.toMatchObject({ status: 500 })
    expect(await creditOf(world, account.address)).toBe(0n)
    expect(await stateOf()).toEqual(['unknown'])
    expect(world.logged.map(({ message }) => message)).toContain(
      'The chain does not show a payment that is said to be settled.',
    )
  })
})

describe('what is our own fault', () => {
  test('20: a node that is down is no bad payment; the same header passes when it is back', async () => {
    const payment = await signSvm(world, account)
    world.gate.isDown = true
    const answer = await sendSvm(world, payment)
    expect([answer.status, answer.body.error, answer.body.details]).toEqual([
      500,
      'X402_TOP_UP_FAILED',
      { retry: 'same-payload' },
    ])
    expect(await stateOf()).toEqual([])
    world.gate.isDown = false
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
  })

  test.each([
    ['answers with words', () => 'busy'],
    ['answers with nothing', () => null],
    ['answers with other members', () => ({ value: 1 })],
  ])('20: a node that %s is no bad payment either', async (_what, spoil) => {
    const payment = await signSvm(world, account)
    world.gate.spoil = spoil
    expect((await sendSvm(world, payment)).status).toBe(500)
    world.gate.spoil = null
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
  })

  test('21: a fee payer without SOL is told to the operator; nothing is claimed, and it mends itself', async () => {
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

  test('28: a payee without an account of the token is told to the operator, and is no bad payment', async () => {
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

  test('the operator is told about a wrong chain, token or payee in a sentence', async () => {
    const { facilitator, option } = world
    expect(await facilitator.problem({ ...option, network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' })).toMatch(
      /set the RPC URL of the right chain/,
    )
    expect(await facilitator.problem({ ...option, asset: account.address })).toMatch(/no token of 6 decimals/)
    expect(await facilitator.problem({ ...option, payTo: '0xdead' })).toMatch(/cannot receive payments/)
    world.gate.isDown = true
    expect(await facilitator.problem(option)).toMatch(/cannot be reached/)
  })

  test('X16: fees beyond the hour’s cap pause settling and blame no payer', async () => {
    expect(world.feeBudget.count(world.feeBudget.left - 10_000n)).not.toBeNull()
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(500)
    expect(await world.facilitator.problem(world.option)).toBeNull()
    world.clock.offsetMs = 2 * 3_600_000
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
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
  }, 30_000)
})

describe('X11: depth', () => {
  test('a payment waits until the chain cannot drop it, and one that was dropped is not credited', async () => {
    chain.node.slots.finality = { confirmed: 100, finalized: 100 }
    const payment = await signSvm(world, account)
    expect((await sendSvm(world, payment)).status).toBe(500)
    expect(await creditOf(world, account.address)).toBe(0n)
    world.gate.spoil = method =>
      method === 'getSignatureStatuses' ? { context: { slot: chain.node.slots.slotAt() }, value: [null] } : undefined
    await world.topUps.completer.complete()
    expect(await stateOf()).toEqual(['unknown'])
    world.gate.spoil = null
    chain.node.slots.advance(100)
    expect((await sendSvm(world, payment)).status).toBe(200)
    await expectPaid(1)
  }, 40_000)
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

  test('a payment of the former one is found among the payer’s transactions', async () => {
    const payment = await signSvm(world, account)
    await sendSvm(world, payment)
    const row = await world.opened.store.read.selectFrom('payment').select(['payload']).executeTakeFirstOrThrow()
    const { SvmPaymentChain } = await import('#service/payments/svm-payment-chain.ts')
    const { secretKey } = await newSvmAccount()
    const feePayer = new SolanaKey(secretKey)
    const other = new SvmPaymentChain({ rpcUrl: world.gate.url, commitment: 'confirmed', feePayer })
    const stored = JSON.parse(row.payload ?? '')
    expect(await other.find(stored, null)).toMatchObject({ state: 'landed', amount: five })
    expect(await other.find(stored, '1'.repeat(88))).toMatchObject({ state: 'landed', amount: five })
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
