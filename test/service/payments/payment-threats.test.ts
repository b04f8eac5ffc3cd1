/** What threatens a top-up, from twins to caches, each with what happens: run through the whole service, or kept by the test that is named. */
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AttackApp, type Kept, kept, openAttackApp, stands } from './attack-app.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { encode, type Loose, payer, sign, withFacilitator } from './top-up-world.ts'

const five = 5_000_000n
const hourMs = 3_600_000

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
type Row = [rule: string, threat: string, answer: string, how: Way | Kept[]]

const here = 'service/payments'
const path = '/api/v1/x402/top-up'

/** A request as bytes, with these header lines. */
async function raw(...lines: string[]): Promise<{ status: number; body: Loose }> {
  const answer = await app.raw(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`,
  )
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  const sent = rest.join('\r\n\r\n')
  // Of a body in chunks, the one chunk that is not empty.
  const body = sent.slice(sent.indexOf('{'), sent.lastIndexOf('}') + 1)
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body: JSON.parse(body || '{}') }
}

/** Lines that say one payment once, and lines that say two. */
async function repeatedHeaders(): Promise<void> {
  const { account, payment } = await payer(app.world)
  const [one, other] = [encode(payment), encode(await sign(account, app.world.option))]
  const conflicts = [
    [`PAYMENT-SIGNATURE: ${one}`, `PAYMENT-SIGNATURE: ${other}`],
    [`PAYMENT-SIGNATURE: ${one}`, `X-PAYMENT: ${other}`],
    [`X-402-Payment: ${one}`, `payment-signature: ${other}`],
    [`PAYMENT-SIGNATURE: ${one}, ${other}`],
    [`PAYMENT-SIGNATURE: ${one}`, 'X-PAYMENT: garbage'],
    [`PAYMENT-SIGNATURE: ${one}`, 'X-PAYMENT:'],
  ]
  for (const lines of conflicts) {
    const { status, body } = await raw(...lines)
    expect([status, body.details?.reason], lines.join('\n').slice(0, 40)).toEqual([400, 'conflicting_headers'])
  }
  expect(await app.creditOf(account.address)).toBe(0n)
  const same = await raw(`PAYMENT-SIGNATURE: ${one}`, `payment-signature: ${one}`, `X-PAYMENT:  ${one} `)
  expect([same.status, same.body.data?.amountCredited]).toEqual([200, 5])
  expect(await app.creditOf(account.address)).toBe(five)
}

async function headerBombs(): Promise<void> {
  const before = await app.rows()
  const { payment } = await payer(app.world)
  const text = JSON.stringify(payment)
  const header = (value: string) => `PAYMENT-SIGNATURE: ${value}`
  const base64 = (json: string) => header(Buffer.from(json).toString('base64'))
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const bombs: [line: string, status: number, reason: string | undefined][] = [
    [header('A'.repeat(40_000)), 431, undefined],
    [header('A'.repeat(20_000)), 400, 'too_long'],
    [base64(deep(40)), 400, 'not_json'],
    [base64('['.repeat(5_000)), 400, 'not_json'],
    [base64(text.replace('{', '{"x402Version":2,')), 400, 'not_json'],
    [base64(text.replace('"nonce"', '"nonce":"0x00","nonce"')), 400, 'not_json'],
    [base64(text.replace('"x402Version":2', '"__proto__":{"x402Version":2}')), 400, 'wrong_version'],
    [base64(text.replace('"value"', '"constructor":"1","value"')), 400, 'payload_members'],
  ]
  for (const [line, status, reason] of bombs) {
    const answer = await raw(line)
    expect([answer.status, answer.body.details?.reason], line.slice(0, 60)).toEqual([status, reason])
  }
  expect(await app.rows()).toBe(before)
}

/** What a caller can make us do for nothing: little, and ten times a minute. */
async function cheapChecksFirst(): Promise<void> {
  const { account, payment } = await payer(app.world)
  expect((await app.pay(payment)).status).toBe(200)
  const { gate, facilitator } = app.world
  gate.asked.length = 0
  expect((await app.pay(payment)).status).toBe(200)
  const forged = await sign(account, app.world.option)
  forged.payload.authorization.nonce = `0x${'11'.repeat(32)}`
  expect((await app.pay(forged)).body.details.reason).toBe('invalid_signature')
  expect(gate.asked, 'neither a resend nor a forged signature costs the node a question').toEqual([])
  let checks = 0
  const counting = withFacilitator(facilitator, {
    verify: signed => {
      checks++
      return facilitator.verify(signed as Parameters<typeof facilitator.verify>[0])
    },
  })
  app.use(app.world.compose({ facilitator: counting }))
  const answers = []
  for (let time = 0; time < 14; time++) answers.push((await app.pay(forged, '127.201.0.1')).status)
  app.use(app.world.topUps)
  expect(answers).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429, 429, 429])
  expect(checks, 'the limit comes before the signature').toBe(10)
}

/** Our clock against the payer's: a minute is forgiven either way, a day is not. */
async function clocks(): Promise<void> {
  const offsets: [offsetMs: number, status: number, reason: string | undefined][] = [
    [24 * hourMs, 400, 'expired'],
    [-24 * hourMs, 400, 'validity_too_long'],
    [50_000, 200, undefined],
    [-50_000, 200, undefined],
  ]
  try {
    for (const [offsetMs, status, reason] of offsets) {
      const { payment } = await payer(app.world)
      app.world.clock.offsetMs = offsetMs
      const answer = await app.pay(payment)
      expect([answer.status, answer.body.details?.reason], `${offsetMs} ms`).toEqual([status, reason])
    }
  } finally {
    app.world.clock.offsetMs = 0
  }
}

async function noCache(): Promise<void> {
  const { payment } = await payer(app.world)
  app.world.gate.mode = 'down'
  const failed = await app.pay(payment)
  app.world.gate.mode = 'open'
  const answers = [failed, await app.ask(), await app.pay('garbage'), await app.pay(payment), await app.pay(payment)]
  expect(answers.map(({ status }) => status)).toEqual([500, 402, 400, 200, 200])
  for (const { headers } of answers) {
    expect(headers['cache-control']).toBe('no-store')
    expect(String(headers.vary).split(', ')).toEqual(
      expect.arrayContaining(['Authorization', 'SIGN-IN-WITH-X', 'PAYMENT-SIGNATURE']),
    )
  }
}

/** The first releases in which a forged Solana payment is refused, and a settlement may be pending. */
const leastVersions = { '@x402/svm': [2, 6, 0], '@x402/core': [2, 24, 0], '@x402/evm': [2, 24, 0] }

async function soundPackages(): Promise<void> {
  const { resolve } = createRequire(import.meta.url)
  for (const [name, least] of Object.entries(leastVersions)) {
    const folder = resolve(name).slice(0, resolve(name).indexOf(`${name}/`) + name.length)
    const { default: manifest } = await import(`${folder}/package.json`, { with: { type: 'json' } })
    const version = String(manifest.version).split('.').map(Number)
    const firstDifference = version.findIndex((part, index) => part !== least[index])
    expect(
      (version[firstDifference] ?? 0) - (least[firstDifference] ?? 0),
      `${name} ${manifest.version}`,
    ).toBeGreaterThanOrEqual(0)
  }
}

async function anotherPayer(): Promise<void> {
  const { account, payment } = await payer(app.world)
  const other = newAccount().address.toLowerCase()
  const body = JSON.stringify({ walletAddress: other, payer: other })
  const headers = { 'payment-signature': encode({ ...payment, payer: other }), 'content-type': 'application/json' }
  expect((await app.ask({ headers, body })).body.data.walletAddress).toBe(account.address.toLowerCase())
  expect([await app.creditOf(account.address), await app.creditOf(other)]).toEqual([five, 0n])
}

const rows: Row[] = [
  [
    'X1',
    'one payment many times, in series and at once, at two processes',
    'one credit; every twin gets the same bytes, or is told to come again',
    [
      ...kept(
        'faults/twins/twins.test.ts',
        'every payment is credited once to its payer, and its twins get one answer',
      ),
      ...kept(`${here}/top-up.test.ts`, 'ten twins at once get ten identical answers and make one transfer'),
    ],
  ],
  [
    'X2',
    'one payment in other spellings',
    'one key, from the decoded values alone',
    [
      ...kept(`${here}/payment-attacks.test.ts`, 'the same payment in every other spelling is the same payment'),
      ...kept(
        `${here}/payment-header.test.ts`,
        'what was signed makes the key, and nothing else',
        'another nonce or payer makes another key',
      ),
    ],
  ],
  ['X3', 'a release of the x402 packages that takes forged payments', 'a sound one is what is bundled', soundPackages],
  [
    'X3',
    'a Solana payment whose signature is forged',
    '400 invalid_signature',
    kept(
      `${here}/svm-attacks.test.ts`,
      'a bit of the signature turned',
      'the signature of somebody else over the same message',
    ),
  ],
  [
    'X4',
    'a facilitator that says success where nothing, too little or somebody else was paid',
    'the chain alone credits',
    [
      ...kept(`${here}/remote-facilitator.test.ts`, 'credits nothing; the real transfer later does'),
      ...kept(`${here}/top-up-crashes.test.ts`, 'X4: a facilitator that lies is not believed'),
    ],
  ],
  [
    'X5',
    'a settlement whose outcome is unknown',
    '500 pending with the same payload, never 402, never "nonce used"',
    [
      ...kept(`${here}/remote-facilitator.test.ts`, 'the payer is credited once and never asked for a second one'),
      ...kept(
        `${here}/top-up-crashes.test.ts`,
        'a nonce that the facilitator saw used, and our node not yet, rejects nothing',
      ),
    ],
  ],
  [
    'X6',
    'a settlement that was never sent',
    'pending until it can no longer land by both clocks, then 400 expired',
    kept(`${here}/top-up-crashes.test.ts`, 'expires after validBefore by both clocks, and is then answered as expired'),
  ],
  [
    'X7',
    'another amount, payee, token, network, scheme or version',
    '400 with the reason, by our own terms',
    [
      ...kept(
        `${here}/payment-attacks.test.ts`,
        'another payee accepted',
        'signed for another payee',
        'a rail that is not offered',
        'the flat payload of version 1',
      ),
      ...kept(
        `${here}/x402-attacks.test.ts`,
        'another payee, token, network or scheme in what the client says it accepted',
      ),
    ],
  ],
  [
    'X8',
    'an amount that BigInt would take and nobody else',
    '400 amount_not_decimal',
    [
      ...kept(
        `${here}/payment-attacks.test.ts`,
        'an empty amount',
        'a hexadecimal amount',
        'an amount with spaces',
        'an amount as a JSON number',
      ),
      ...kept(`${here}/payment-header.test.ts`, 'garbage of any kind is our own 400, never anything else'),
    ],
  ],
  ['X9', 'clocks that differ by a day, or by less than a minute', '400 expired, validity_too_long; taken', clocks],
  [
    'X10',
    'somebody else submits the authorization',
    '200: credited to its payer, also after it has expired, and what has come is the amount',
    kept(
      `${here}/top-up.test.ts`,
      'a payment that a stranger brought to the chain is credited once',
      'it is credited even where the payer comes after it has expired',
      'another amount with the same nonce is credited as that amount',
    ),
  ],
  [
    'X11',
    'a chain that drops its newest blocks',
    'credited once enough blocks follow, and not before',
    kept(
      `${here}/confirmations.test.ts`,
      'a transfer whose block the chain drops is never credited for that block, and is brought again',
      'the completer counts too: one block short is not enough',
    ),
  ],
  ['X12', 'a body or a member that names another wallet', 'the verified payer is credited', anotherPayer],
  [
    'X13',
    'payment headers that come twice, under one name or two',
    'one payment where they are the same bytes, else 400',
    repeatedHeaders,
  ],
  [
    'X13',
    'two credentials of one kind',
    '400',
    kept(
      'service/identity/identify.test.ts',
      "['two headers', ['Bearer one', 'Bearer two'], 400]",
      'and with two values neither',
    ),
  ],
  ['X14', 'headers that are long, deep, or say a member twice', '431 or 400, nothing kept', headerBombs],
  [
    'X15',
    'bad signatures by the thousand',
    'no question to the node, and ten a minute before any check',
    cheapChecksFirst,
  ],
  [
    'X15',
    'a wallet’s contract that is called to check a signature',
    'off by default; with little gas and a time limit where it is on',
    kept(
      `${here}/contract-wallets.test.ts`,
      'a wallet that burns what gas it gets',
      'neither a wallet’s signature nor its owner’s is taken, and its code is not called',
    ),
  ],
  [
    'X16',
    'payments that are made to burn our gas',
    'refused before they are sent; the fees of an hour are capped',
    [
      ...kept(
        `${here}/contract-wallets.test.ts`,
        'a wallet that would burn our gas in the transfer',
        'one that turns against us after it was checked costs no gas either',
      ),
      ...kept(
        `${here}/local-facilitator.test.ts`,
        'over the cap a payment is told to come again, untouched, and the operator knows',
      ),
    ],
  ],
  ['X17', 'a cache on the way', 'no answer may be stored', noCache],
  [
    'X18',
    'a service, or somebody before it, that offers other terms',
    'the agent’s wallet pays only who and what it knows',
    kept(
      'wallet/decide.test.ts',
      'no offer makes the wallet pay more than the order, a cap, another payee or another token',
    ),
  ],
  [
    'X19',
    'balances looked up by address',
    '401 or 403',
    kept('service/wallet-rules.test.ts', '§5 wallet records are the wallet’s own'),
  ],
  [
    'X20',
    'failures in somebody else’s name, to have them blocked',
    'they count for the address that sends them, and for nobody who identifies themselves',
    kept(
      'service/limits-rules.test.ts',
      'failures without an identity block the address, and nobody who identifies themselves',
    ),
  ],
]

test('every threat has a row', () => {
  expect(new Set(rows.map(([rule]) => rule))).toEqual(
    new Set(Array.from({ length: 20 }, (_, index) => `X${index + 1}`)),
  )
})

test.each(rows)('%s: %s → %s', { timeout: 30_000 }, async (_rule, _threat, _answer, how) => {
  if (!Array.isArray(how)) return how()
  expect(how.length).toBeGreaterThan(0)
  for (const each of how) expect(await stands(each), `${each.file}: ${each.title}`).toBe(true)
})
