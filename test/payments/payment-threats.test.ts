/** Of what threatens a top-up, from twins to caches, the rows that no other test shows: run through the whole service. */

import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { abuseBlock } from '#contract/limits.ts'
import { threatsNamedIn, titleOf } from '../security/threats.ts'
import { type AttackApp, attackAppForAllTests } from './attack-app.ts'
import { newAccount } from './test-chain.ts'
import { encode, type Loose, payer, sign, withFacilitator } from './top-up-world.ts'

const five = 5_000_000n
const hourMs = 3_600_000

let app: AttackApp
attackAppForAllTests(opened => {
  app = opened
})

type Way = () => Promise<void>

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
  for (let time = 0; time < 30; time++) answers.push((await app.pay(forged, '127.201.0.1')).status)
  app.use(app.world.topUps)
  expect(answers).toEqual([...Array.from({ length: 10 }, () => 400), ...Array.from({ length: 20 }, () => 429)])
  // A payment that can be verified counts for its payer, so only the abuse block ends the checks of an address.
  expect(checks, 'the block comes before the signature').toBe(abuseBlock.failures + 1)
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

const ways: Record<string, Way> = {
  X3: soundPackages,
  X9: clocks,
  X12: anotherPayer,
  X13: repeatedHeaders,
  X14: headerBombs,
  X15: cheapChecksFirst,
  X17: noCache,
}

const rows = threatsNamedIn('payments/payment-threats.test.ts')

test('every row that says it is shown here is run here', () => {
  expect(Object.keys(ways)).toEqual(rows.map(({ id }) => id))
})

test.each(rows.map(threat => [titleOf(threat), threat.id] as const))('%s', (_title, id) => ways[id]?.())
