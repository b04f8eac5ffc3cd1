import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { encodeFunctionData, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { usdcAbi } from '#local/token/usdc.generated.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import { openRemoteEvmFacilitator, type RemoteEvmFacilitatorOptions } from '#payments/evm/open-evm.ts'
import type { RemoteFacilitator } from '#payments/facilitators/remote-facilitator.ts'
import type { TopUps } from '#payments/top-ups/top-up.ts'
import { answer, behave, behaviours } from '../faults/twins/behaviours.ts'
import { evmSettler } from '../faults/twins/evm-settler.ts'
import { type HostileFacilitator, openHostileFacilitator } from '../faults/twins/hostile-facilitator.ts'
import { localServer } from '../local-server.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { type Answer, creditOf, type Loose, openWorld, payer, send, type World } from './top-up-world.ts'

const five = 5_000_000n
const lateMs = 1_500
/** Far below the real ones, to save time: only the ratio to the facilitator's delay matters. */
const answerMs = { verify: 3_000, settle: 400, supported: 3_000 }

let chain: TestChain
let world: World
let hostile: HostileFacilitator
let remote: RemoteFacilitator<EvmPayment>
let topUps: TopUps
const ends: (() => Promise<void>)[] = []

beforeAll(async () => {
  chain = await startTestChain()
})
afterAll(() => chain.stop())
beforeEach(async () => {
  world = await openWorld(chain)
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAccount(key).address)
  hostile = await openHostileFacilitator(evmSettler(chain.url, key), behaviours[0], lateMs)
  remote = await openRemote()
  topUps = world.compose({ facilitator: remote, answerWaitMs: 5_000 })
  ends.push(
    () => topUps.close(),
    () => hostile.close(),
  )
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await world.dispose()
})

const openRemote = async (options: Partial<RemoteEvmFacilitatorOptions> = {}) => {
  const opened = await openRemoteEvmFacilitator({
    url: hostile.url,
    network: evmNetwork,
    rpcUrl: world.gate.url,
    answerMs,
    ...options,
  })
  ends.push(() => opened.close())
  return opened
}

const received = () => chain.transfersTo(world.option.payTo)
const expectPending = ({ status, body }: Answer) =>
  expect([status, body.error, body.details?.retry]).toEqual([500, 'X402_SETTLEMENT_PENDING', 'same-payload'])

/** As a client is told to: the same payload again, until it is a success. Anything but pending on the way is a failure. */
async function sendUntilCredited(payment: Loose): Promise<Answer> {
  for (let time = 0; time < 30; time++) {
    const sent = await send(topUps, payment)
    if (sent.status === 200) return sent
    expectPending(sent)
    await sleep(200)
  }
  throw new Error('The payment was never credited.')
}

describe('however a facilitator fails after it took a payment, the payer is credited once and never asked for a second one', () => {
  test.each(behaviours)('it %s', async behaviour => {
    hostile.settle = behave[behaviour]
    const { account, payment } = await payer(world)
    const first = await sendUntilCredited(payment)
    await hostile.quiet()
    await topUps.completer.complete()
    expect((await send(topUps, payment)).text).toBe(first.text)
    expect(await received()).toEqual([[account.address.toLowerCase(), five]])
    expect(await creditOf(world, account.address)).toBe(five)
  })

  test('if no request is repeated, the background task credits it', async () => {
    const answered = Promise.withResolvers<void>()
    hostile.settle = async ({ settler, question }) => {
      await answered.promise
      await settler.settle(question)
    }
    const { account, payment } = await payer(world)
    expectPending(await send(topUps, payment))
    answered.resolve()
    await hostile.quiet()
    await topUps.completer.complete()
    expect(await creditOf(world, account.address)).toBe(five)
  })
})

describe('what a facilitator says is not what the chain says', () => {
  const transfer = async (from: string, to: string, amount: bigint): Promise<string> => {
    await chain.fund(from)
    const args = [to as Hex, amount] as const
    return chain.sendAs(from, encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args }))
  }
  const lies: [string, (payerAddress: string) => Promise<string>][] = [
    ['a transaction that does not exist', async () => `0x${'ab'.repeat(32)}`],
    ['a transfer of the payer to another payee', async from => transfer(from, newAccount().address, five)],
    ['a transfer of the payer to us, of a lower amount', async from => transfer(from, world.option.payTo, 1n)],
    ['a plain transfer to us by another payer', async () => transfer(await funded(), world.option.payTo, five)],
    ['a transaction that failed', async () => failed()],
  ]
  const funded = async () => {
    const { address } = newAccount()
    await chain.mint(address, five)
    return address
  }
  /** A transaction in a block, without effect: the token refuses a transfer that is more than there is. */
  const failed = async () => {
    const { address } = newAccount()
    await chain.fund(address)
    await chain.ask('anvil_impersonateAccount', [address])
    const args = [world.option.payTo as Hex, five] as const
    const data = encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args })
    return String(await chain.ask('eth_sendTransaction', [{ from: address, to: usdcOnEvm, data, gas: '0x30d40' }]))
  }

  test.each(lies)('success with the hash of %s credits nothing; the real transfer later does', async (_, lie) => {
    const { account, payment } = await payer(world)
    const transaction = await lie(account.address)
    hostile.settle = async ({ response }) => answer(response, 200, { success: true, transaction, network: evmNetwork })
    expectPending(await send(topUps, payment))
    expect(await creditOf(world, account.address)).toBe(0n)
    expect(world.logged).toContain('The chain does not show a payment that the facilitator reports as settled.')
    hostile.settle = async ({ settler, question, response }) => answer(response, 200, await settler.settle(question))
    expect((await send(topUps, payment)).status).toBe(200)
    expect(await creditOf(world, account.address)).toBe(five)
  })

  const refusals: [string, number, object][] = [
    ['insufficient_funds', 200, { success: false, errorReason: 'insufficient_funds', transaction: '' }],
    ['a failure with a status of its own', 402, { success: false, errorReason: 'invalid_payload', transaction: '' }],
    ['a transaction that is pending', 200, { success: false, errorReason: 'settlement_pending', transaction: '0x00' }],
    ['that it wants credentials', 401, { error: 'unauthorized' }],
    ['that it is asked too often', 429, {}],
  ]

  test.each(refusals)(
    'a refusal is no proof (%s): the payment stays pending, and is credited when it lands',
    async (_, status, body) => {
      const { account, payment } = await payer(world)
      // However slow the machine is, it lands after nobody waits for it any more.
      const answered = Promise.withResolvers<void>()
      hostile.settle = async ({ settler, question, response }) => {
        answer(response, status, body)
        await answered.promise
        await settler.settle(question)
      }
      expectPending(await send(topUps, payment))
      answered.resolve()
      await hostile.quiet()
      await topUps.completer.complete()
      expect(await creditOf(world, account.address)).toBe(five)
    },
  )

  test('one that always refuses: pending until it can no longer land by both clocks, then expired', async () => {
    const { account, payment } = await payer(world)
    hostile.settle = async ({ response }) =>
      answer(response, 200, { success: false, errorReason: 'insufficient_funds', transaction: '' })
    expectPending(await send(topUps, payment))
    const before = await chain.ask('evm_snapshot')
    try {
      world.clock.offsetMs = 3_600_000
      await topUps.completer.complete()
      expectPending(await send(topUps, payment))
      await chain.ask('evm_increaseTime', [3_600])
      await chain.ask('evm_mine')
      await topUps.completer.complete()
      const answered = await send(topUps, payment)
      expect([answered.status, answered.body.details.reason]).toEqual([400, 'expired'])
      expect(await creditOf(world, account.address)).toBe(0n)
    } finally {
      await chain.ask('evm_revert', [before])
    }
  })

  const verdicts: [string, object, number, string][] = [
    ['refuses', { isValid: false, invalidReason: 'blocked_by_policy' }, 400, 'facilitator_refused'],
    ['knows of too little money', { isValid: false, invalidReason: 'insufficient_funds' }, 400, 'insufficient_funds'],
    [
      'calls the signature wrong that we find right',
      { isValid: false, invalidReason: 'invalid_exact_evm_signature' },
      500,
      'X402_TOP_UP_FAILED',
    ],
    ['could not tell', { isValid: false, invalidReason: 'unexpected_verify_error' }, 500, 'X402_TOP_UP_FAILED'],
    ['gives no reason', { isValid: false }, 500, 'X402_TOP_UP_FAILED'],
    ['says something else', { ok: true }, 500, 'X402_TOP_UP_FAILED'],
    [
      'calls a nonce used that is not',
      { isValid: false, invalidReason: 'invalid_exact_evm_nonce_already_used' },
      500,
      'X402_TOP_UP_FAILED',
    ],
  ]

  test.each(verdicts)(
    'when asked to check, it %s: nothing is claimed, and the same header passes later',
    async (_, verdict, status, word) => {
      const { account, payment } = await payer(world)
      hostile.verdict = verdict
      const sent = await send(topUps, payment)
      expect([sent.status, sent.body.details.reason ?? sent.body.error]).toEqual([status, word])
      expect(await world.opened.store.read.selectFrom('payment').select('id').execute()).toEqual([])
      hostile.verdict = null
      await sendUntilCredited(payment)
      expect(await creditOf(world, account.address)).toBe(five)
    },
  )
})

describe('what is sent to it', () => {
  test('a forged signature and a used nonce never reach it; it gets only our own option', async () => {
    const { payment } = await payer(world)
    const forged = structuredClone(payment)
    forged.payload.authorization.nonce = `0x${'11'.repeat(32)}`
    expect((await send(topUps, forged)).body.details.reason).toBe('invalid_signature')
    expect(hostile.asked).toEqual([])
    let told: Loose
    hostile.settle = async ({ question, response }) => {
      told = question
      answer(response, 500, {})
    }
    payment.accepted.extra = { name: 'Other', version: '9' }
    payment.accepted.maxTimeoutSeconds = 99_999
    await send(topUps, { ...payment, extensions: { secret: 1 } })
    const accepted = { ...world.option, amount: '5000000' }
    expect(told).toEqual({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted, payload: expect.any(Object) },
      paymentRequirements: accepted,
    })
  })

  test('its credentials go with each request and into no log, also where making them fails', async () => {
    const secret = 'a-secret-of-the-operator'
    let fails = false
    const headers: RemoteEvmFacilitatorOptions['headers'] = ({ action, url }) => {
      if (fails) throw new Error(`could not sign with ${secret}`)
      return { authorization: `Bearer ${secret} ${action} ${url.pathname}` }
    }
    topUps = world.compose({ facilitator: await openRemote({ headers }), answerWaitMs: 5_000 })
    const { payment } = await payer(world)
    hostile.settle = async ({ response }) => answer(response, 401, {})
    expectPending(await send(topUps, payment))
    expect(hostile.asked.map(({ path, headers: { authorization } }) => [path, authorization])).toEqual([
      ['POST /verify', `Bearer ${secret} verify /verify`],
      ['POST /settle', `Bearer ${secret} settle /settle`],
    ])
    fails = true
    expectPending(await send(topUps, payment))
    expect((await send(topUps, (await payer(world)).payment)).body.error).toBe('X402_TOP_UP_FAILED')
    expect(world.facts.length).toBeGreaterThan(2)
    expect(inspect([world.logged, world.facts], { depth: 20, maxStringLength: null })).not.toContain(secret)
  })
})

/** A server that answers everything in one way. */
async function serverOf(listener: RequestListener): Promise<string> {
  const server = await localServer(listener)
  ends.push(server.close)
  return server.url
}

describe('a connection to it is bounded', () => {
  test('no redirect is followed: the signed payment stays with whom the operator named', async () => {
    let followed = 0
    const other = await serverOf((_, response) => {
      followed++
      answer(response, 200, { isValid: true })
    })
    const url = await serverOf((request, response) => {
      response.writeHead(307, { location: `${other}${request.url}` }).end()
    })
    topUps = world.compose({ facilitator: await openRemote({ url }) })
    const { payment } = await payer(world)
    expect((await send(topUps, payment)).body.error).toBe('X402_TOP_UP_FAILED')
    expect(followed).toBe(0)
  })

  const floods: [string, RequestListener][] = [
    ['an answer of a megabyte', (_, response) => response.end(`{"isValid": true, "more": "${'x'.repeat(1_000_000)}"}`)],
    ['an answer with endless nesting', (_, response) => response.end('['.repeat(50_000))],
    ['an answer that never ends', (_, response) => void response.write('{"isValid":')],
    ['an answer that never begins', () => undefined],
    ['a connection that breaks', (_, response) => void response.socket?.destroy()],
  ]

  test.each(floods)('%s is not an answer', async (_, listener) => {
    const url = await serverOf(listener)
    const facilitator = await openRemote({ url, answerMs: { ...answerMs, verify: 300 } })
    const { payment } = await payer(world)
    const sent = await send(world.compose({ facilitator }), payment)
    expect([sent.status, sent.body.error]).toEqual([500, 'X402_TOP_UP_FAILED'])
  })

  test('one that is unreachable at settlement: pending, reported to the operator, settled when it is back', async () => {
    const { account, payment } = await payer(world)
    const gone = await openRemote({ url: 'http://127.0.0.1:9' })
    const facilitator = Object.assign(Object.create(remote), {
      settle: gone.settle.bind(gone),
      verify: remote.verify.bind(remote),
      supported: () => [evmNetwork],
    })
    expectPending(await send(world.compose({ facilitator }), payment))
    expect(world.facts).toContainEqual(expect.objectContaining({ why: expect.stringMatching(/cannot be reached/) }))
    await sendUntilCredited(payment)
    expect(await creditOf(world, account.address)).toBe(five)
  })
})

describe('the operator learns what is wrong with it', () => {
  test('in a sentence, or nothing where all is well', async () => {
    const at = async (url: string) => (await openRemote({ url })).problem(world.option)
    expect(await remote.problem(world.option)).toBeNull()
    expect(await remote.problem({ ...world.option, network: 'eip155:1' })).toMatch(/does not settle on eip155:1/)
    expect(await remote.problem({ ...world.option, payTo: 'nobody' })).toMatch(/payTo/)
    expect(await remote.problem({ ...world.option, extra: { name: 'Other', version: '2' } })).toMatch(
      /payments\.evm\.token\.name/,
    )
    expect(await at('http://127.0.0.1:9')).toMatch(/cannot be reached/)
    expect(await at(await serverOf((_, response) => answer(response, 403, {})))).toMatch(/credentials/)
    world.gate.mode = 'down'
    expect(await remote.problem(world.option)).toMatch(/node cannot be reached/)
  })

  test.each([
    'http://facilitator.example',
    'https://user:word@facilitator.example',
    'https://facilitator.example/?key=1',
    'ftp://facilitator.example',
    'facilitator.example',
    '',
  ])('the address %j is refused at start', async url => {
    await expect(openRemote({ url })).rejects.toThrow('must use https')
  })
})
