import { inspect } from 'node:util'
import { encodeFunctionData, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { paymentRequired, paymentResponse } from '#contract/wire/headers.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import { newAccount, type TestChain } from './test-chain.ts'
import {
  creditOf,
  doorOf,
  encode,
  type Loose,
  openWorld,
  payer,
  payingFetch,
  publicUrl,
  send,
  sign,
  signAs,
  topUpUrl,
  type World,
  withFacilitator,
} from './top-up-world.ts'
import { worldForEachTest } from './world-for-each-test.ts'

let chain: TestChain
let world: World
worldForEachTest(made => {
  chain = made.chain
  world = made.world
})

const received = () => chain.transfersTo(world.option.payTo)
const five = 5_000_000n

/** Another party that has the signed payment submits it to the chain. */
const submit = async (payment: Loose) => {
  const { from, to, value, validAfter, validBefore, nonce } = payment.payload.authorization
  const terms = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce] as const
  const args = [...terms, payment.payload.signature as Hex] as const
  const anybody = newAccount().address
  await chain.fund(anybody)
  const data = encodeFunctionData({ abi: usdcAbi, functionName: 'transferWithAuthorization', args })
  const hash = await chain.sendAs(anybody, data)
  // On a busy machine the block may come after the answer to the send.
  await expect.poll(() => receiptOf(hash)).not.toBeNull()
  return hash
}

const receiptOf = (hash: string) => chain.ask('eth_getTransactionReceipt', [hash])

describe('one payment', () => {
  test('without a payment: 402 with only the requirements, and the header that clients read (brief §2.2)', async () => {
    const response = await doorOf(world.topUps)(topUpUrl, { method: 'POST' })
    expect(response.status).toBe(402)
    expect(await response.json()).toEqual({ x402Version: 2, accepts: [world.option] })
    expect(paymentRequired.parse(response.headers.get('payment-required') ?? '')).toMatchObject({
      x402Version: 2,
      error: expect.any(String),
      resource: { url: `${publicUrl}/api/v1/x402/top-up` },
      accepts: [world.option],
    })
  })

  test('the stock client asks, signs and gets its credit, settled on the chain before the answer', async () => {
    const account = newAccount()
    await chain.mint(account.address, 20_000_000n)
    const response = await payingFetch(world.topUps, account)(topUpUrl, { method: 'POST' })
    expect(response.status).toBe(200)
    const wallet = account.address.toLowerCase()
    const paymentId = expect.stringMatching(/^pay_\w{32}$/)
    const data = { walletAddress: wallet, amountCredited: 5, newBalance: 5, paymentId }
    expect(await response.json()).toEqual({ success: true, data })
    const settlement = paymentResponse.parse(response.headers.get('payment-response') ?? '')
    expect(settlement).toMatchObject({ success: true, network: 'eip155:8453', payer: wallet })
    expect(await received()).toEqual([[wallet, five]])
    expect(await chain.ask('eth_getTransactionReceipt', [settlement?.transaction])).toMatchObject({ status: '0x1' })
    expect(await creditOf(world, wallet)).toBe(five)
  })

  test('an older client sends the flat payload under an older name (published contract §1.3)', async () => {
    const { account, payment } = await payer(world)
    const flat = { x402Version: 2, scheme: 'exact', network: 'base', payload: payment.payload }
    expect((await send(world.topUps, flat, 'X-PAYMENT')).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a larger amount than the minimum is credited whole', async () => {
    const { account } = await payer(world)
    const payment = await sign(account, { ...world.option, amount: '7250001' })
    expect((await send(world.topUps, payment)).body.data).toMatchObject({
      amountCredited: 7.250001,
      newBalance: 7.250001,
    })
  })

  test('the payment of a wallet that an account owns is credited to that account', async () => {
    const { account, payment } = await payer(world)
    const [atMs, wallet] = [Date.now(), account.address.toLowerCase()]
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'
    const open = { op: 'account', account: 'customer', kind: 'customer', atMs } as const
    await world.opened.store.commit([{ id, ops: [open, { op: 'wallet', wallet, account: 'customer', atMs }] }])
    expect((await send(world.topUps, payment)).status).toBe(200)
    const row = await world.opened.store.read.selectFrom('account').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({ id: 'customer', posted: five })
  })
})

describe('the same payment again', () => {
  test('X1, attacks 1 and 4: ten duplicates at once get ten identical answers and make one transfer', async () => {
    const { account, payment } = await payer(world)
    let checks = 0
    const verify: typeof world.facilitator.verify = signed => {
      checks++
      return world.facilitator.verify(signed)
    }
    const topUps = world.compose({ facilitator: withFacilitator(world.facilitator, { verify }) })
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(topUps, payment)))
    expect(checks, 'twins share one check').toBe(1)
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(new Set(answers.map(answer => answer.headers.get('payment-response'))).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('attack 5: twins at two processes of one store get identical answers and make one transfer', async () => {
    const { account, payment } = await payer(world)
    const doors = [world.topUps, world.compose(), world.compose(), world.compose()]
    const answers = await Promise.all(doors.map(topUps => send(topUps, payment)))
    expect(new Set(answers.map(answer => answer.text))).toEqual(new Set([answers[0]?.text]))
    expect(answers[0]?.status).toBe(200)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('byte for byte the same after a restart, after other movements and after the payment expired', async () => {
    const { account, payment } = await payer(world)
    const first = await send(world.topUps, payment)
    const second = await send(world.topUps, await sign(account, world.option))
    expect(second.body.data.newBalance).toBe(10)
    world.clock.offsetMs = 24 * 60 * 60 * 1000
    const again = await send(world.compose({ store: await world.opened.reopen() }), payment)
    expect(again.text).toBe(first.text)
    expect(again.headers.get('payment-response')).toBe(first.headers.get('payment-response'))
    expect(await received()).toHaveLength(2)
  })

  test('attack 2: a ledger that knows nothing of a landed payment is caught up from the chain, once', async () => {
    const { account, payment } = await payer(world)
    await send(world.topUps, payment)
    const other = await openWorld(chain)
    try {
      const topUps = world.compose({ store: other.opened.store })
      const answers = [await send(topUps, payment), await send(topUps, payment)]
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(answers[0]?.text).toBe(answers[1]?.text)
      expect(await creditOf(other, account.address)).toBe(five)
    } finally {
      await other.dispose()
    }
  })

  test('another authorization with the nonce of a known one is refused', async () => {
    const { payment } = await payer(world)
    await send(world.topUps, payment)
    const forged = structuredClone(payment)
    forged.payload.authorization.value = forged.accepted.amount = '9000000'
    const answer = await send(world.topUps, forged)
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'nonce_used'])
  })

  test('a new payment and one that was rejected count towards the limit, a resend does not', async () => {
    const { account, payment } = await payer(world, 0n)
    let counted = 0
    const header = (name: string) => (name === 'x-payment' ? [encode(payment)] : [])
    const ask = () => world.topUps.topUp({ header, address: '127.0.0.1', count: async () => void counted++ })
    await expect(ask()).rejects.toMatchObject({ status: 400 })
    await expect(ask()).rejects.toMatchObject({ status: 400 })
    await chain.mint(account.address, five)
    await ask()
    expect(counted).toBe(3)
    await ask()
    expect(counted).toBe(3)
  })
})

describe('another party acts first', () => {
  test('X10, attack 18: a payment that another party submitted is credited once', async () => {
    const { account, payment } = await payer(world)
    await submit(payment)
    const answers = [await send(world.topUps, payment), await send(world.topUps, payment)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[0]?.text).toBe(answers[1]?.text)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a node that has the event and not yet the receipt rejects nothing: pending, then credited', async () => {
    const { account, payment } = await payer(world)
    await submit(payment)
    world.gate.mode = 'no-receipts'
    const early = await send(world.topUps, payment)
    expect(early.status).toBe(500)
    world.gate.mode = 'open'
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('it is credited even where the payer comes after it has expired', async () => {
    const { account, payment } = await payer(world)
    await submit(payment)
    world.clock.offsetMs = 60 * 60 * 1000
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a forged signature is not taken for that payment, though it is too late for any: the payer is not shut out', async () => {
    const { account, payment } = await payer(world)
    await submit(payment)
    world.clock.offsetMs = 60 * 60 * 1000
    const forged = structuredClone(payment)
    forged.payload.signature = `${payment.payload.signature.slice(0, 10)}${'00'.repeat(4)}${payment.payload.signature.slice(18)}`
    const refused = await send(world.topUps, forged)
    expect([refused.status, refused.body.details.reason]).toEqual([400, 'invalid_signature'])
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('a nonce that the payer used for another payee is refused, and nothing is credited', async () => {
    const { account, payment } = await payer(world)
    const nonce = payment.payload.authorization.nonce
    await submit(await signAs(account, { ...world.option, payTo: newAccount().address }, { nonce }))
    const answer = await send(world.topUps, payment)
    expect([answer.status, answer.body.details.reason]).toEqual([400, 'nonce_used'])
    expect(await creditOf(world, account.address)).toBe(0n)
  })

  test('what has arrived is what counts: another amount with the same nonce is credited as that amount', async () => {
    const { account, payment } = await payer(world)
    const nonce = payment.payload.authorization.nonce
    await submit(await signAs(account, { ...world.option, amount: '6000000' }, { nonce }))
    expect((await send(world.topUps, payment)).body.data.amountCredited).toBe(6)
    expect(await creditOf(world, account.address)).toBe(6_000_000n)
  })
})

describe('the chain fails', () => {
  test('X5, attack 20: an unreachable node does not make a payment bad; the same header succeeds when it is back', async () => {
    const { account, payment } = await payer(world)
    world.gate.mode = 'down'
    const failed = await send(world.topUps, payment)
    expect([failed.status, failed.body.error]).toEqual([500, 'X402_TOP_UP_FAILED'])
    expect(failed.body.details.retry).toBe('same-payload')
    expect(failed.headers.get('retry-after')).toMatch(/^\d+$/)
    world.gate.mode = 'open'
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('X5: where the answer to a sent transaction is lost, the chain is asked and it is credited', async () => {
    const { account, payment } = await payer(world)
    world.gate.mode = 'lose-sends'
    expect((await send(world.topUps, payment)).status).toBe(200)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('X5, attack 19: a transaction that was lost is pending, never a fresh 402, and sent again later', async () => {
    const { account, payment } = await payer(world)
    world.gate.mode = 'drop-sends'
    const pending = await send(world.topUps, payment)
    expect([pending.status, pending.body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])
    expect(pending.body.details).toMatchObject({ retry: 'same-payload' })
    expect(pending.headers.get('retry-after')).toMatch(/^\d+$/)
    world.gate.mode = 'down'
    expect((await send(world.topUps, payment)).body.error, 'no chain to ask').toBe('X402_SETTLEMENT_PENDING')
    world.gate.mode = 'open'
    const answer = await send(world.topUps, payment)
    expect(answer.status).toBe(200)
    expect(answer.body.data.paymentId).toBe(pending.body.details.paymentId)
    expect(await received()).toHaveLength(1)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('nothing that is logged on the way holds the signature or the address of the node', async () => {
    const { payment } = await payer(world)
    for (const mode of ['down', 'drop-sends', 'down', 'lose-sends'] as const) {
      world.gate.mode = mode
      await send(world.topUps, payment)
    }
    const told = inspect([world.logged, world.facts], { depth: 20, maxStringLength: null })
    expect(world.facts.length).toBeGreaterThan(1)
    expect(told).not.toContain(new URL(world.gate.url).port)
    expect(told).not.toContain(payment.payload.signature.slice(2, 66))
  })

  test('attack 16: a payer without funds gets a 400, and the same header passes once it has some', async () => {
    const { account, payment } = await payer(world, 0n)
    const refused = await send(world.topUps, payment)
    expect([refused.status, refused.body.details.reason]).toEqual([400, 'insufficient_funds'])
    await chain.mint(account.address, five)
    expect((await send(world.topUps, payment)).status).toBe(200)
  })

  test('attack 21: a key without gas is reported to the operator, and payments resume by themselves', async () => {
    const { account, payment } = await payer(world)
    const { LocalFacilitator, openLocalFacilitator } = await import('#payments/evm/local-facilitator.ts')
    const { generatePrivateKey, privateKeyToAccount } = await import('viem/accounts')
    const key = generatePrivateKey()
    const facilitator = await openLocalFacilitator({ network: 'eip155:8453', rpcUrl: world.gate.url, key })
    expect(facilitator).toBeInstanceOf(LocalFacilitator)
    expect(await facilitator.problem(world.option)).toMatch(/no ETH.*send it some/)
    const topUps = world.compose({ facilitator })
    const pending = await send(topUps, payment)
    expect([pending.status, pending.body.error]).toEqual([500, 'X402_SETTLEMENT_PENDING'])
    expect(world.logged).toContain('A payment could not be sent.')
    await chain.fund(privateKeyToAccount(key).address)
    expect(await facilitator.problem(world.option)).toBeNull()
    await topUps.completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('the operator learns of a wrong payee, token or node in a sentence', async () => {
    const { facilitator, option, gate } = world
    expect(await facilitator.problem({ ...option, payTo: '0x0000000000000000000000000000000000000000' })).toMatch(
      /payTo/,
    )
    expect(await facilitator.problem({ ...option, asset: newAccount().address })).toMatch(/no token/)
    gate.mode = 'down'
    expect(await facilitator.problem(option)).toMatch(/cannot be reached/)
  })

  test('attack 22: twenty payers at once over one key; the thirteen with funds are credited', async () => {
    const payers = []
    for (let index = 0; index < 20; index++) payers.push(await payer(world, index < 13 ? five : 0n))
    const answers = await Promise.all(payers.map(({ payment }) => send(world.topUps, payment)))
    expect(answers.map(({ status }) => status)).toEqual(payers.map((_, index) => (index < 13 ? 200 : 400)))
    expect(await received()).toHaveLength(13)
  })
})
