/** Published attacks on a payment by x402, each with its answer: run through the whole service, or kept by the test that is named. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AttackApp, type HttpAnswer, type Kept, kept, openAttackApp, stands } from './attack-app.ts'
import { solanaAttackRows } from './solana-attack-rows.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { encode, type Loose, payer, sign, signAs } from './top-up-world.ts'

const five = 5_000_000n

let chain: TestChain
let app: AttackApp
beforeAll(async () => {
  chain = await startTestChain()
  app = await openAttackApp(chain)
})
afterAll(async () => {
  await app.close()
  await chain.stop()
})

type Way = () => Promise<void>
type Row = [row: number, attack: string, answer: string, how: Way | Kept[]]

const stranger = '0x00000000000000000000000000000000000000aa'
const seconds = () => Math.floor(Date.now() / 1000)
const here = 'service/payments'

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

const rows: Row[] = [
  [
    1,
    'the same header again',
    '200, the same bytes, no second credit',
    async () => {
      const { account, payment } = await payer(app.world)
      const first = await credited(payment, account.address)
      expect(sameAnswer([first, await app.pay(payment), await app.pay(payment)]).size).toBe(1)
      expect(await app.creditOf(account.address)).toBe(five)
    },
  ],
  [
    2,
    'the same header to books that know nothing of it',
    'the chain is asked, then 200 and one credit',
    kept(
      `${here}/top-up.test.ts`,
      'books that know nothing of a payment that landed are caught up from the chain, once',
    ),
  ],
  [
    4,
    'ten twins at once',
    'one transfer, ten identical answers',
    async () => {
      const { account, payment } = await payer(app.world)
      const before = (await app.received()).length
      const answers = await Promise.all(Array.from({ length: 10 }, () => app.pay(payment)))
      expect([sameAnswer(answers).size, answers[0]?.status]).toEqual([1, 200])
      expect((await app.received()).length).toBe(before + 1)
      expect(await app.creditOf(account.address)).toBe(five)
    },
  ],
  [
    5,
    'two processes settle one authorization',
    'one transfer, one credit; whoever loses tells the same answer',
    [
      ...kept(
        `${here}/top-up.test.ts`,
        'twins at two processes of one store get identical answers and make one transfer',
      ),
      ...kept(`${here}/two-machines.test.ts`, 'a process that was away for longer than its lease, and then hears'),
    ],
  ],
  [
    8,
    'an amount below the minimum, or above the maximum',
    '400 amount_too_low, amount_too_high',
    refused(
      [account => sign(account, { ...app.world.option, amount: '4999999' }), 'amount_too_low'],
      [account => sign(account, { ...app.world.option, amount: '0' }), 'amount_too_low'],
      [account => sign(account, { ...app.world.option, amount: '10000000001' }), 'amount_too_high'],
    ),
  ],
  [
    9,
    'a signed value that is not the accepted amount',
    '400 amount_mismatch',
    refused(
      [accepting({ amount: '5000001' }), 'amount_mismatch'],
      [signedFor({ amount: '6000000' }), 'amount_mismatch'],
    ),
  ],
  [
    10,
    'another payee, token, network or scheme in what the client says it accepted',
    '400 with the one that is wrong',
    refused(
      [accepting({ payTo: stranger }), 'wrong_recipient'],
      [accepting({ asset: stranger }), 'wrong_asset'],
      [accepting({ network: 'eip155:84532' }), 'unsupported_network'],
      [accepting({ scheme: 'upto' }), 'unsupported_scheme'],
    ),
  ],
  [
    11,
    'signed for another payee, token or chain',
    '400 wrong_recipient, invalid_signature',
    refused(
      [signedFor({ payTo: stranger }), 'wrong_recipient'],
      [signedFor({ asset: stranger }), 'invalid_signature'],
      [signedFor({ extra: { name: 'USD Coin', version: '2' } }), 'invalid_signature'],
      [changed(({ payload }) => void Object.assign(payload.authorization, { from: stranger })), 'invalid_signature'],
    ),
  ],
  [
    12,
    'expired, with a few seconds left, not valid yet, or valid for years',
    '400 expired, not_yet_valid, validity_too_long',
    refused(
      [signed({ validBefore: '1' }), 'expired'],
      [account => signAs(account, app.world.option, { validBefore: `${seconds() + 5}` }), 'expired'],
      [account => signAs(account, app.world.option, { validAfter: `${seconds() + 3_600}` }), 'not_yet_valid'],
      [account => sign(account, { ...app.world.option, maxTimeoutSeconds: 315_360_000 }), 'validity_too_long'],
    ),
  ],
  [
    13,
    'an amount that is negative, hexadecimal, beyond 256 bits or no number',
    '400 before anybody is asked',
    async () => {
      app.world.gate.asked.length = 0
      const amounts = ['-5000000', '0x4c4b40', `${2n ** 256n}`, '5e6', ' 5000000', '5000000.0', '', 'five']
      await refused(...amounts.map((amount): [Make, string] => [amounting(amount), 'amount_not_decimal']))()
      expect(app.world.gate.asked).toEqual([])
    },
  ],
  [
    14,
    'a permit2 payload, alone or beside the authorization',
    '400 payload_members',
    refused(
      [
        changed(payment => void Object.assign(payment, { payload: { signature: '0x', permit2Authorization: {} } })),
        'payload_members',
      ],
      [changed(({ payload }) => void Object.assign(payload, { permit2Authorization: {} })), 'payload_members'],
    ),
  ],
  [
    15,
    'another name and version of the token in what the client says it accepted',
    'ignored: our own option is what is checked and settled',
    async () => {
      const { account, payment } = await payer(app.world)
      payment.accepted.extra = { name: 'Other', version: '9' }
      payment.accepted.maxTimeoutSeconds = 315_360_000
      await credited(payment, account.address)
    },
  ],
  [
    16,
    'a payer without the token',
    '400 insufficient_funds',
    refused([() => sign(newAccount(), app.world.option), 'insufficient_funds']),
  ],
  [
    17,
    'a payer who empties the wallet between the check and the settlement',
    '400, nothing credited',
    kept(
      `${here}/top-up-crashes.test.ts`,
      'a payer who empties the wallet meanwhile gets a 400, and a resend is judged anew',
    ),
  ],
  [
    18,
    'a stranger submits the authorization first',
    '200: what has come is credited to its payer, once',
    [
      ...kept(`${here}/top-up.test.ts`, 'a payment that a stranger brought to the chain is credited once'),
      ...kept(`${here}/confirmations.test.ts`, 'one that somebody else brought is taken on and credited later'),
    ],
  ],
  [
    19,
    'the answer to a settlement is lost',
    '500 pending with the same payload, never a fresh 402; then 200',
    [
      ...kept(
        `${here}/top-up.test.ts`,
        'a transaction that was lost is pending, never a fresh 402, and sent again later',
      ),
      ...kept(`${here}/remote-facilitator.test.ts`, 'the payer is credited once and never asked for a second one'),
    ],
  ],
  [
    20,
    'the node is down',
    '500 with the same payload, never a 400; it passes when the node is back',
    async () => {
      const { account, payment } = await payer(app.world)
      app.world.gate.mode = 'down'
      const failed = await app.pay(payment)
      app.world.gate.mode = 'open'
      expect([failed.status, failed.body.error]).toEqual([500, 'X402_TOP_UP_FAILED'])
      expect([failed.body.details.retry, Number(failed.headers['retry-after']) > 0]).toEqual(['same-payload', true])
      await credited(payment, account.address)
    },
  ],
  [
    21,
    'the facilitator’s key has no gas',
    '500 pending, the operator is told before and after; settled when it has some',
    [
      ...kept(`${here}/top-up.test.ts`, 'a key without gas is our fault, is told to the operator, and mends itself'),
      ...kept(`${here}/local-facilitator.test.ts`, 'about a key whose gas runs out, in time'),
    ],
  ],
  [
    22,
    'a dozen payers at once over one key',
    'every funded one is settled',
    kept(`${here}/top-up.test.ts`, 'twenty payers at once over one key; the thirteen with funds are credited'),
  ],
  [
    29,
    'version 1, no base64, a list, garbage, missing members',
    '400, never 500',
    refused(
      [changed(payment => void Object.assign(payment, { x402Version: 1 })), 'wrong_version'],
      [changed(payment => void delete payment.x402Version), 'wrong_version'],
      [async () => 'not base64!', 'not_base64'],
      [async () => Buffer.from('{').toString('base64'), 'not_json'],
      [async () => [], 'not_json'],
      [changed(payment => void delete payment.payload), 'payload_members'],
      [changed(({ payload }) => void delete payload.authorization.nonce), 'payload_members'],
      [changed(({ payload }) => void Object.assign(payload, { signature: '0x00' })), 'invalid_signature'],
    ),
  ],
  [
    30,
    'a sign-in again, or for another path',
    '401',
    [
      ...kept('service/identity/identify.test.ts', '100 uses of one header at once are one success'),
      ...kept('service/wallet-rules.test.ts', 'a sign-in serves once'),
    ],
  ],
  [31, 'a sign-in for another chain', '401', kept('service/identity/identify.test.ts', 'a test network is refused')],
  [
    32,
    'a sign-in by a clock two seconds ahead',
    'taken',
    kept('service/identity/identify.test.ts', 'as far ahead as may be'),
  ],
  [
    33,
    'a sign-in with a malformed nonce or address',
    '400 or 401, never 500',
    kept('service/identity/identify.test.ts', 'whatever a sign-in header says, the answer is 400 or 401'),
  ],
  [
    34,
    'a wallet that did not pay: its credit, or the records of another one',
    'the payer alone is credited; 403 for records of another wallet',
    [
      ...kept(
        `${here}/body-wallet.test.ts`,
        'the verified payer is credited, whatever wallet the body of the request names',
      ),
      ...kept('service/wallet-rules.test.ts', '§5 wallet records are the wallet’s own'),
    ],
  ],
  [
    35,
    'more than twenty failures in thirty seconds',
    '429 for that address for thirty seconds, and for nobody else',
    async () => {
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
  ],
]

const all: Row[] = [...rows, ...solanaAttackRows].sort(([one], [other]) => one - other)

test('there are 35, each once', () => {
  expect(all.map(([row]) => row)).toEqual(Array.from({ length: 35 }, (_, index) => index + 1))
})

test.each(all)('%i: %s → %s', { timeout: 30_000 }, async (_row, _attack, _answer, how) => {
  if (!Array.isArray(how)) return how()
  expect(how.length).toBeGreaterThan(0)
  for (const each of how) expect(await stands(each), `${each.file}: ${each.title}`).toBe(true)
})

test('none of them left the books in disorder, and nothing is said that nobody foresaw', async () => {
  const received = (await app.received()).reduce((sum, [, amount]) => sum + amount, 0n)
  const entries = await app.world.opened.store.read.selectFrom('entry').select('amount').execute()
  expect(entries.reduce((sum, { amount }) => sum + amount, 0n)).toBe(received)
  expect(app.world.logged).not.toContain('A top-up met an error that nobody foresaw.')
  expect(encode(app.opened.logged)).not.toContain('nobody foresaw')
})
