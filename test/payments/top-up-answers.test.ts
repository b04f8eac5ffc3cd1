/** What a top-up answers, and what counts, by what its facilitator and its chain say; both are told here, the ledger is real. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '#contract/errors/service-error.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from '#payments/facilitators/rail.ts'
import type { OnChain } from '#payments/payment/payment.ts'
import { PaymentRows } from '#payments/top-ups/payment-rows.ts'
import { TopUps, type TopUpsOptions } from '#payments/top-ups/top-up.ts'
import { openTemporaryStore } from '../ledger/store/sqlite-folder.ts'
import { TestClock } from '../service/open-service.ts'
import { away, landed, open } from './driver-world.ts'

const payTo = `0x${'c'.repeat(40)}`
const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
}
const forEver = new Promise<never>(() => undefined)

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let clock: TestClock
let verdict: () => Promise<Verdict>
let settlement: () => Promise<Settlement>
let sees: () => Promise<OnChain>
let asked: { verified: number; settled: number; found: number; closed: number }
let told: [message: string, facts: object][]
let topUps: TopUps

const facilitator: Facilitator = {
  verify() {
    asked.verified++
    return verdict()
  },
  settle() {
    asked.settled++
    return settlement()
  },
  supported: () => [evmNetwork],
  problem: async () => null,
  close: async () => void asked.closed++,
}
const tell = (facts: object, message: string) => void told.push([message, facts])

const find = () => {
  asked.found++
  return sees()
}

const compose = (parts: Partial<TopUpsOptions> = {}) =>
  new TopUps({
    ...{ settings: { publicUrl: 'https://pay.example', paymentOptions: [option] }, store: opened.store, clock },
    ...{ log: { info: tell, warn: tell, error: tell }, facilitator, owner: 'one', answerWaitMs: 60_000 },
    chain: { find },
    ...parts,
  })

beforeEach(async () => {
  opened = await openTemporaryStore()
  clock = new TestClock()
  verdict = async () => ({ valid: true })
  settlement = async () => ({ state: 'settled', transaction: '0xfeed' })
  sees = async () => landed
  asked = { verified: 0, settled: 0, found: 0, closed: 0 }
  told = []
  topUps = compose()
})
afterEach(() => opened.dispose())

interface Terms {
  nonce?: number
  to?: string
  validAfter?: string
}
/** The header of five dollars, of the one payer of these tests. */
function header({ nonce = 1, to = payTo, validAfter = '0' }: Terms = {}): string {
  const authorization = {
    ...{ from: `0x${'a'.repeat(40)}`, to, value: '5000000', validAfter },
    ...{ validBefore: `${Math.floor(clock.now() / 1_000) + 120}`, nonce: `0x${`${nonce}`.padStart(64, '0')}` },
  }
  const payload = { signature: `0x${'11'.repeat(64)}1b`, authorization }
  return Buffer.from(JSON.stringify({ x402Version: 2, scheme: 'exact', network: 'base', payload })).toString('base64')
}

async function ask(value: string | null = header(), of = topUps, address = '192.0.2.1') {
  let counted = 0
  const request = {
    address,
    header: (name: string) => (name === 'payment-signature' && value !== null ? [value] : []),
    count: async () => void counted++,
  }
  try {
    const answer = await of.topUp(request as never)
    return { status: 200, text: answer.body, body: JSON.parse(answer.body), retryAfter: null, counted }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { status, headers } = error
    // biome-ignore lint/suspicious/noExplicitAny: the body of any refusal
    const body = error.body as any
    return { status, text: JSON.stringify(body), body, retryAfter: headers?.['retry-after'] ?? null, counted }
  }
}
const reasonOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.details?.reason ?? body.error]
const pending = (retryAfter = '2') => ({
  status: 500,
  body: {
    error: 'X402_SETTLEMENT_PENDING',
    details: { retry: 'same-payload', paymentId: expect.stringMatching(/^pay_/) },
  },
  retryAfter,
})
const failed = (retryAfter = '2') => ({
  status: 500,
  body: { error: 'X402_TOP_UP_FAILED', details: { retry: 'same-payload' } },
  retryAfter,
})

describe('a payment', () => {
  test('is credited, counts once, and is answered in the same bytes from then on, whatever its terms are by then', async () => {
    const first = await ask()
    expect(first).toMatchObject({ status: 200, counted: 1, body: { success: true, data: { amountCredited: 5 } } })
    expect(asked).toMatchObject({ verified: 1, settled: 1, found: 1 })
    const sent = header()
    clock.pass(3_600_000)
    const settings = {
      publicUrl: 'https://pay.example',
      paymentOptions: [{ ...option, payTo: `0x${'d'.repeat(40)}` }] as const,
    }
    const other = compose({ settings: settings as never })
    const again = await ask(sent, other)
    expect([again.text, again.counted, asked.verified]).toEqual([first.text, 0, 1])
  })

  test('that is sent twice at once is processed once, and counts once', async () => {
    const [one, other] = await Promise.all([ask(), ask()])
    expect([one.text === other.text, one.counted + other.counted, asked.verified]).toEqual([true, 1, 1])
  })

  test('that was refused is judged again, and counts again', async () => {
    settlement = async () => ({ state: 'refused', reason: 'insufficient_funds' })
    sees = async () => open
    expect([reasonOf(await ask()), reasonOf(await ask())]).toEqual(Array(2).fill([400, 'insufficient_funds']))
    expect(asked.verified).toBe(2)
    sees = async () => landed
    expect(await ask()).toMatchObject({ status: 200, counted: 1 })
  })

  test('that has ended stays ended, and is not checked again', async () => {
    sees = async () => open
    await ask()
    await opened.tamper("UPDATE payment SET state = 'expired'")
    const before = { ...asked }
    const again = await ask()
    expect([reasonOf(again), again.counted, asked]).toEqual([[400, 'expired'], 0, before])
  })

  test('with the nonce of another one is refused before and after that one was credited', async () => {
    sees = async () => open
    await ask()
    const other = header({ validAfter: '1' })
    expect(reasonOf(await ask(other))).toEqual([400, 'nonce_used'])
    sees = async () => landed
    expect((await ask()).status).toBe(200)
    expect(reasonOf(await ask(other))).toEqual([400, 'nonce_used'])
  })

  const refused: [rule: string, value: string | null, answer: [number, string], counted: number][] = [
    ['that is invalid gets something to sign', null, [402, 'undefined'], 1],
    ['that cannot be read counts', 'garbage', [400, 'not_base64'], 1],
    [
      'that cannot be decoded counts',
      Buffer.from('{"x402Version":2,"scheme":"x","network":"base","payload":{}}').toString('base64'),
      [400, 'unsupported_scheme'],
      1,
    ],
  ]
  test.each(refused)('%s', async (_rule, value, answer, counted) => {
    const answered = await ask(value)
    expect([reasonOf(answered).map(String), answered.counted]).toEqual([answer.map(String), counted])
    expect(asked).toMatchObject({ verified: 0, found: 0 })
  })

  test('with other terms is counted, and is not checked', async () => {
    const answered = await ask(header({ to: `0x${'d'.repeat(40)}` }))
    expect([reasonOf(answered), answered.counted, asked.verified]).toEqual([[400, 'wrong_recipient'], 1, 0])
  })
})

describe('an answer that is late or unknown', () => {
  test('is pending if the chain does not show the money yet, and the next request continues', async () => {
    sees = async () => open
    expect(await ask()).toMatchObject(pending())
    sees = async () => landed
    expect(await ask()).toMatchObject({ status: 200, counted: 0 })
    expect(asked).toMatchObject({ verified: 1, settled: 1 })
  })

  test('is pending if the caller stops waiting; the work continues, and shutdown waits for it', async () => {
    const verified = Promise.withResolvers<Verdict>()
    verdict = () => verified.promise
    const impatient = compose({ answerWaitMs: 1 })
    expect(await ask(header(), impatient)).toMatchObject(pending())
    verified.resolve({ valid: true })
    await impatient.close()
    expect(asked.closed).toBe(1)
    expect(await ask()).toMatchObject({ status: 200, counted: 0 })
  })

  test('is pending if another process drives the payment, which no other process touches meanwhile', async () => {
    sees = async () => open
    await ask()
    sees = async () => landed
    await opened.tamper(`UPDATE payment SET lease_owner = 'two', lease_until_ms = ${clock.now() + 1}`)
    const before = { ...asked }
    expect(await ask(header(), compose({ answerWaitMs: 1 }))).toMatchObject(pending())
    expect(asked).toEqual(before)
    clock.pass(1)
    expect((await ask()).status).toBe(200)
  })

  const failures: [rule: string, failure: Error, answer: object, message: string][] = [
    ['the chain is away', away, failed(), 'The chain could not be queried about a payment.'],
    [
      'settling is paused',
      new SettlementPaused('The hour is full.'),
      failed('60'),
      'A payment was refused because settling is paused.',
    ],
    ['it is unexpected', new RangeError('a fault'), pending(), 'A top-up failed with an unexpected error.'],
  ]
  test.each(failures)(
    'is told with the time to try again in a moment where %s, and to the operator',
    async (_rule, failure, answer, message) => {
      verdict = () => Promise.reject(failure)
      const answered = await ask()
      expect(answered).toMatchObject(answer)
      const err = failure instanceof RangeError ? { err: failure } : {}
      expect(told).toEqual([[message, { payment: expect.stringMatching(/^pay_/), failure: failure.name, ...err }]])
      expect(await opened.store.read.selectFrom('payment').select('id').execute()).toEqual([])
    },
  )

  test('is pending, not failed, if the chain does not answer and the payment is claimed', async () => {
    sees = async () => open
    await ask()
    sees = () => Promise.reject(away)
    expect(await ask()).toMatchObject(pending())
  })

  test('is failed where too many are being settled: five hundred', { timeout: 60_000 }, async () => {
    verdict = () => forEver
    const impatient = compose({ answerWaitMs: 1 })
    for (let nonce = 1; nonce <= 500; nonce++) await ask(header({ nonce }), impatient, `192.0.2.${nonce >> 1}`)
    const answered = await ask(header({ nonce: 501 }), impatient)
    expect(answered).toMatchObject(failed())
    expect(answered.body.message).toMatch(/^Too many payments are being settled\. Nothing was taken\./)
    expect((await ask(header({ nonce: 500 }), impatient)).body.error).toBe('X402_SETTLEMENT_PENDING')
  })
})

describe('payments that count towards no limit yet', () => {
  const impatient = () => compose({ answerWaitMs: 1 })

  test('are checked twenty at once from an address, and from other addresses too', async () => {
    verdict = () => forEver
    const of = impatient()
    for (let nonce = 1; nonce <= 20; nonce++) expect(await ask(header({ nonce }), of)).toMatchObject(pending())
    const answered = await ask(header({ nonce: 21 }), of)
    expect(answered).toMatchObject({ ...failed(), counted: 0 })
    expect(answered.body.message).toMatch(
      /^Too many payments from this address are being checked\. Nothing was taken\./,
    )
    expect(asked.verified).toBe(20)
    expect(await ask(header({ nonce: 21 }), of, '192.0.2.2')).toMatchObject(pending())
  })

  test('make room when they are refused, and when they begin to settle', async () => {
    verdict = async () => ({ valid: false, reason: 'insufficient_funds' })
    for (let nonce = 1; nonce <= 21; nonce++)
      expect(reasonOf(await ask(header({ nonce })))).toEqual([400, 'insufficient_funds'])
    verdict = async () => ({ valid: true })
    settlement = () => forEver
    const of = impatient()
    for (let nonce = 1; nonce <= 21; nonce++) await ask(header({ nonce }), of)
    await expect.poll(() => asked.settled).toBe(21)
  })
})

describe('a stop', () => {
  test('completes even if a payment does not end, or a facilitator cannot be closed', async () => {
    verdict = () => forEver
    const endless = compose({ answerWaitMs: 1, closeMs: 1, facilitator: { ...facilitator, close: () => forEver } })
    await ask(header(), endless)
    await endless.close()
    expect(told.map(([message]) => message)).toEqual([
      'Some payments are still being settled; they continue at the next start.',
      'The facilitator could not be closed.',
    ])
  })

  test('says nothing where all has ended', async () => {
    await ask()
    await topUps.close()
    expect([told, asked.closed]).toEqual([[], 1])
  })
})

test('an option without a facilitator is refused at startup', () => {
  const other = { ...facilitator, supported: () => ['eip155:1'] }
  expect(() => compose({ facilitator: other })).toThrow('No facilitator settles payments on eip155:8453')
})

test('a start finishes what was left behind, and looks whether payments can be settled', async () => {
  sees = async () => open
  await ask()
  sees = async () => landed
  const next = compose({ facilitator: { ...facilitator, problem: async () => 'No gas.' } })
  await next.start()
  const rows = new PaymentRows({ store: opened.store, clock, owner: 'two' })
  expect(await rows.abandoned(10)).toEqual([])
  await next.watch.look()
  expect(next.watch.problems).toEqual(['No gas.'])
  await next.close()
})
