/** Of the published attacks on a payment by x402, those that no other test shows: run through the whole service. */
import { expect, test } from 'vitest'
import { threats, threatsNamedIn, titleOf } from '../security/threats.ts'
import { type AttackApp, attackAppForAllTests, type HttpAnswer } from './attack-app.ts'
import { newAccount } from './test-chain.ts'
import { encode, type Loose, payer, sign, signAs } from './top-up-world.ts'

const five = 5_000_000n

let app: AttackApp
attackAppForAllTests(opened => {
  app = opened
})

type Way = () => Promise<void>

const stranger = '0x00000000000000000000000000000000000000aa'
const seconds = () => Math.floor(Date.now() / 1000)

const reasonOf = ({ status, body }: HttpAnswer) => [status, body.error, body.details?.reason]

type Make = (account: ReturnType<typeof newAccount>) => Promise<unknown>

/** Every one of these is a 400 with its reason; nothing is credited, moved or kept of it. */
const refused =
  (...attacks: [make: Make, reason: string][]): Way =>
  async () => {
    const { account } = await payer(app.world)
    const before = [await app.rows(), (await app.received()).length]
    for (const [make, reason] of attacks) {
      expect(reasonOf(await app.pay(await make(account)))).toEqual([400, 'X402_INVALID_PAYMENT', reason])
    }
    expect([await app.rows(), (await app.received()).length]).toEqual(before)
    expect(await app.creditOf(account.address)).toBe(0n)
  }

/** A good payment, changed after it was signed. */
const changed =
  (change: (payment: Loose) => unknown): Make =>
  async account => {
    const payment = await sign(account, app.world.option)
    return change(payment) ?? payment
  }

const accepting = (members: object) => changed(({ accepted }) => void Object.assign(accepted, members))
const amounting = (amount: unknown) =>
  changed(({ accepted, payload }) => {
    accepted.amount = payload.authorization.value = amount
  })
const signed =
  (members: object): Make =>
  account =>
    signAs(account, app.world.option, members)

/** Signs other terms than were offered, and calls them the offer's. */
const signedFor =
  (terms: object): Make =>
  async account => ({ ...(await sign(account, { ...app.world.option, ...terms })), accepted: app.world.option })

/** Sends a good payment and expects its credit, once. */
async function credited(payment: Loose, address: string): Promise<HttpAnswer> {
  const before = await app.creditOf(address)
  const answer = await app.pay(payment)
  expect(answer.status).toBe(200)
  expect(await app.creditOf(address)).toBe(before + five)
  return answer
}

const sameAnswer = (answers: readonly HttpAnswer[]) =>
  new Set(answers.map(({ status, text, headers }) => `${status} ${text} ${headers['payment-response']}`))

const ways: Record<string, Way> = {
  1: async () => {
    const { account, payment } = await payer(app.world)
    const first = await credited(payment, account.address)
    expect(sameAnswer([first, await app.pay(payment), await app.pay(payment)]).size).toBe(1)
    expect(await app.creditOf(account.address)).toBe(five)
  },
  4: async () => {
    const { account, payment } = await payer(app.world)
    const before = (await app.received()).length
    const answers = await Promise.all(Array.from({ length: 10 }, () => app.pay(payment)))
    expect([sameAnswer(answers).size, answers[0]?.status]).toEqual([1, 200])
    expect((await app.received()).length).toBe(before + 1)
    expect(await app.creditOf(account.address)).toBe(five)
  },
  8: refused(
    [account => sign(account, { ...app.world.option, amount: '4999999' }), 'amount_too_low'],
    [account => sign(account, { ...app.world.option, amount: '0' }), 'amount_too_low'],
    [account => sign(account, { ...app.world.option, amount: '10000000001' }), 'amount_too_high'],
  ),
  9: refused(
    [accepting({ amount: '5000001' }), 'amount_mismatch'],
    [signedFor({ amount: '6000000' }), 'amount_mismatch'],
  ),
  10: refused(
    [accepting({ payTo: stranger }), 'wrong_recipient'],
    [accepting({ asset: stranger }), 'wrong_asset'],
    [accepting({ network: 'eip155:84532' }), 'unsupported_network'],
    [accepting({ scheme: 'upto' }), 'unsupported_scheme'],
  ),
  11: refused(
    [signedFor({ payTo: stranger }), 'wrong_recipient'],
    [signedFor({ asset: stranger }), 'invalid_signature'],
    [signedFor({ extra: { name: 'USD Coin', version: '2' } }), 'invalid_signature'],
    [changed(({ payload }) => void Object.assign(payload.authorization, { from: stranger })), 'invalid_signature'],
  ),
  12: refused(
    [signed({ validBefore: '1' }), 'expired'],
    [account => signAs(account, app.world.option, { validBefore: `${seconds() + 5}` }), 'expired'],
    [account => signAs(account, app.world.option, { validAfter: `${seconds() + 3_600}` }), 'not_yet_valid'],
    [account => sign(account, { ...app.world.option, maxTimeoutSeconds: 315_360_000 }), 'validity_too_long'],
  ),
  13: async () => {
    app.world.gate.asked.length = 0
    const amounts = ['-5000000', '0x4c4b40', `${2n ** 256n}`, '5e6', ' 5000000', '5000000.0', '', 'five']
    await refused(...amounts.map((amount): [Make, string] => [amounting(amount), 'amount_not_decimal']))()
    expect(app.world.gate.asked).toEqual([])
  },
  14: refused(
    [
      changed(payment => void Object.assign(payment, { payload: { signature: '0x', permit2Authorization: {} } })),
      'payload_members',
    ],
    [changed(({ payload }) => void Object.assign(payload, { permit2Authorization: {} })), 'payload_members'],
  ),
  15: async () => {
    const { account, payment } = await payer(app.world)
    payment.accepted.extra = { name: 'Other', version: '9' }
    payment.accepted.maxTimeoutSeconds = 315_360_000
    await credited(payment, account.address)
  },
  16: refused([() => sign(newAccount(), app.world.option), 'insufficient_funds']),
  20: async () => {
    const { account, payment } = await payer(app.world)
    app.world.gate.mode = 'down'
    const failed = await app.pay(payment)
    app.world.gate.mode = 'open'
    expect([failed.status, failed.body.error]).toEqual([500, 'X402_TOP_UP_FAILED'])
    expect([failed.body.details.retry, Number(failed.headers['retry-after']) > 0]).toEqual(['same-payload', true])
    await credited(payment, account.address)
  },
  29: refused(
    [changed(payment => void Object.assign(payment, { x402Version: 1 })), 'wrong_version'],
    [changed(payment => void delete payment.x402Version), 'wrong_version'],
    [async () => 'not base64!', 'not_base64'],
    [async () => Buffer.from('{').toString('base64'), 'not_json'],
    [async () => [], 'not_json'],
    [changed(payment => void delete payment.payload), 'payload_members'],
    [changed(({ payload }) => void delete payload.authorization.nonce), 'payload_members'],
    [changed(({ payload }) => void Object.assign(payload, { signature: '0x00' })), 'invalid_signature'],
  ),
  35: async () => {
    const attacker = '127.200.0.1'
    const statuses = []
    for (let time = 0; time < 25; time++) statuses.push((await app.pay('garbage', attacker)).status)
    expect(statuses.slice(0, 5)).toEqual([400, 400, 400, 400, 400])
    expect(statuses.at(-1)).toBe(429)
    const { account, payment } = await payer(app.world)
    const blocked = await app.pay(payment, attacker)
    expect([blocked.status, Object.keys(blocked.body)]).toEqual([429, ['error']])
    await credited(payment, account.address)
  },
}

const rows = threatsNamedIn('payments/x402-attacks.test.ts')

test('there are 35, each once, and every one that says it is shown here is run here', () => {
  const published = threats.map(({ id }) => id).filter(id => /^\d/.test(id))
  expect(published).toEqual(Array.from({ length: 35 }, (_, index) => `${index + 1}`))
  expect(Object.keys(ways)).toEqual(rows.map(({ id }) => id))
})

test.each(rows.map(threat => [titleOf(threat), threat.id] as const))('%s', (_title, id) => ways[id]?.())

test('none of them left the ledger inconsistent, and no unexpected error is logged', async () => {
  const received = (await app.received()).reduce((sum, [, amount]) => sum + amount, 0n)
  const entries = await app.world.opened.store.read.selectFrom('entry').select('amount').execute()
  expect(entries.reduce((sum, { amount }) => sum + amount, 0n)).toBe(received)
  expect(app.world.logged).not.toContain('A top-up failed with an unexpected error.')
  expect(encode(app.opened.logged)).not.toContain('nobody foresaw')
})
