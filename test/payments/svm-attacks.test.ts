/** Attacks on the terms and the form of a Solana payment, each with its answer; no node is asked about any of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import { type Attack, Attacked, attackWays } from './svm-attacked.ts'
import { craft, rewrite, transferOf } from './svm-transactions.ts'
import { encode } from './top-up-world.ts'

let attacked: Attacked
beforeAll(async () => {
  attacked = await Attacked.open()
})
afterAll(() => attacked.close())

const { accept, change, draft, message, payload, transfer } = attackWays(() => attacked)

const signAmount = (amount: bigint) => async () => {
  const payment = await draft(async made => {
    made.instructions[2] = await transferOf(attacked.account, attacked.world.payee.address, { amount })
  })()
  return { ...(payment as { accepted: object }), accepted: { ...attacked.world.option, amount: `${amount}` } }
}

const bytes = (mutate: (bytes: Buffer) => Buffer | undefined) => change(payment => rewrite(payment, mutate))

const flip = (bytes: Buffer, at: number) => {
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes
}

const header = (write: (json: string) => string) => async () => {
  const json = JSON.stringify(await craft(attacked.world, attacked.account))
  return Buffer.from(write(json)).toString('base64')
}

const terms: Attack[] = [
  ['8, X8', 'an amount below the minimum', signAmount(4_999_999n), 'amount_too_low'],
  ['8, X8', 'an amount of zero', signAmount(0n), 'amount_too_low'],
  ['8, X8', 'an amount above the maximum', signAmount(10_000_000_001n), 'amount_too_high'],
  ['8, X8', 'the largest amount that a transfer can say', signAmount(2n ** 64n - 1n), 'amount_not_decimal'],
  ['9', 'more accepted than signed', accept(() => ({ amount: '5000001' })), 'amount_mismatch'],
  ['9', 'less accepted than signed', transfer(() => ({ amount: 5_000_001n })), 'amount_mismatch'],
  ['10, X7', 'another payee accepted', accept(() => ({ payTo: attacked.stranger.address })), 'wrong_recipient'],
  [
    '10, X7',
    'the payee in other letters, which is another address',
    accept(() => ({ payTo: attacked.world.option.payTo.toLowerCase() })),
    'wrong_recipient',
  ],
  ['10, X7', 'the token of the other rail accepted', accept(() => ({ asset: usdcOnEvm })), 'wrong_asset'],
  [
    '10, X7',
    'another cluster accepted',
    accept(() => ({ network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' })),
    'unsupported_network',
  ],
  [
    '10, X7',
    'the rail accepted that is not offered',
    accept(() => ({ network: 'eip155:8453' })),
    'unsupported_network',
  ],
  ['10, X7', 'another scheme accepted', accept(() => ({ scheme: 'upto' })), 'unsupported_scheme'],
  [
    '11, X7',
    'signed for the token account of another payee',
    transfer(async () => ({ destination: await usdcAccountOf(attacked.stranger.signer.address) })),
    'wrong_recipient',
  ],
  [
    '11, X7',
    'signed for the payee’s wallet instead of its token account',
    transfer(() => ({ destination: attacked.world.payee.address })),
    'wrong_recipient',
  ],
  [
    '11, X7',
    'from the payee’s own account to itself, so that nothing comes in',
    draft(async made => {
      const source = await usdcAccountOf(attacked.world.payee.signer.address)
      const whole = await transferOf(attacked.account, attacked.world.payee.address, { source })
      made.instructions[2] = whole
    }),
    'wrong_recipient',
  ],
  ['11, X7', 'signed for another token', transfer(() => ({ mint: attacked.stranger.address })), 'wrong_asset'],
  ['11, X7', 'signed for other decimals', transfer(() => ({ decimals: 9 })), 'wrong_asset'],
  ['13, X8', 'a negative amount', accept(() => ({ amount: '-5000000' })), 'amount_not_decimal'],
  ['13, X8', 'a hexadecimal amount', accept(() => ({ amount: '0x4c4b40' })), 'amount_not_decimal'],
  ['13, X8', 'an amount of 2^256', accept(() => ({ amount: `${2n ** 256n}` })), 'amount_not_decimal'],
  ['13, X8', 'an empty amount', accept(() => ({ amount: '' })), 'amount_not_decimal'],
  ['13, X8', 'an amount with an exponent', accept(() => ({ amount: '5e6' })), 'amount_not_decimal'],
  ['13, X8', 'an amount as a JSON number', accept(() => ({ amount: 5_000_000 })), 'payload_members'],
]

const forms: Attack[] = [
  ['27', 'no signature of the payer', draft(made => made.signers.pop()), 'invalid_signature'],
  [
    '27',
    'the signature of somebody else over the same message',
    bytes(it => Buffer.concat([it.subarray(0, 65), attacked.stranger.key.sign(it.subarray(129)), it.subarray(129)])),
    'invalid_signature',
  ],
  ['27', 'a bit of the signature turned', bytes(it => flip(it, 100)), 'invalid_signature'],
  ['27', 'a letter of the memo changed after it was signed', bytes(it => flip(it, it.length - 3)), 'invalid_signature'],
  [
    '27',
    'three signatures where two are needed',
    bytes(it => Buffer.concat([Buffer.of(3), it.subarray(1, 129), Buffer.alloc(64), it.subarray(129)])),
    'invalid_signature',
  ],
  [
    '27',
    'one signature where two are needed',
    bytes(it => Buffer.concat([Buffer.of(1), it.subarray(65)])),
    'invalid_signature',
  ],
  [
    'X2',
    'a second spelling of a length',
    message(it => Buffer.concat([it.subarray(0, 4), Buffer.of((it[4] ?? 0) | 0x80, 0), it.subarray(5)])),
    'not_a_transaction',
  ],
  ['X2', 'a byte after the message', message(it => Buffer.concat([it, Buffer.of(0)])), 'not_a_transaction'],
  [
    'X2',
    'base64 with a line end, a second spelling of the same bytes',
    payload(({ transaction }) => ({ transaction: `${transaction}\n` })),
    'not_a_transaction',
  ],
  [
    'X2',
    'a member beside the transaction',
    payload(({ transaction }) => ({ transaction, signature: '0x' })),
    'payload_members',
  ],
  [
    'X7',
    'a message of version 1',
    message(it => Buffer.concat([Buffer.of(0x81), it.subarray(1)])),
    'not_a_transaction',
  ],
  ['14', 'a payload of the other rail', payload(() => ({ signature: '0x', authorization: {} })), 'payload_members'],
  ['29', 'version 1', change(it => ({ ...it, x402Version: 1 })), 'wrong_version'],
  ['29', 'no version', change(({ x402Version: _, ...it }) => it), 'wrong_version'],
  ['29', 'no payload', change(({ payload: _, ...it }) => it), 'payload_members'],
  ['29', 'no transaction', payload(() => ({})), 'payload_members'],
  ['29', 'a transaction that is a list', payload(() => ({ transaction: [1, 2] })), 'payload_members'],
  ['29', 'an empty transaction', payload(() => ({ transaction: '' })), 'not_a_transaction'],
  [
    '29',
    'bytes that say nothing',
    payload(() => ({ transaction: Buffer.alloc(300, 9).toString('base64') })),
    'not_a_transaction',
  ],
  ['29', 'half a transaction', bytes(it => it.subarray(0, 150)), 'not_a_transaction'],
  [
    '29',
    'more bytes than a transaction can have',
    bytes(it => Buffer.concat([it, Buffer.alloc(1_232)])),
    'not_a_transaction',
  ],
  ['29', 'no base64', async () => 'not base64!', 'not_base64'],
  ['29', 'a list', async () => [], 'not_json'],
  ['29', 'the flat payload of version 1', change(({ payload }) => flat(1, payload)), 'wrong_version'],
  [
    'X13',
    'two payments that differ in one header',
    async () => `${encode(await craft(attacked.world, attacked.account))}, ${encode({})}`,
    'conflicting_headers',
  ],
  ['X14', 'a member twice', header(json => json.replace('{', '{"x402Version":2,')), 'not_json'],
  ['X14', 'a thousand brackets', header(() => '['.repeat(1_000)), 'not_json'],
  ['X14', 'a header of 9 KB', change(it => ({ ...it, padding: 'a'.repeat(9_000) })), 'too_long'],
]

const flat = (x402Version: number, payload: unknown) => ({ x402Version, scheme: 'exact', network: 'solana', payload })

test.each([...terms, ...forms])('%s: %s', async (_rule, _attack, payment, reason) => {
  await attacked.expectRefusal(await payment(), reason)
})

test('X15: a thousand forged signatures reach no node and leave no row', async () => {
  const forge = bytes(it => flip(it, 70 + Math.floor(Math.random() * 50)))
  for (let count = 0; count < 1_000; count++) {
    const text = encode(await forge())
    const header = (name: string) => (name.toLowerCase() === 'payment-signature' ? [text] : [])
    const asked = attacked.world.topUps.topUp({ header, address: '127.0.0.1', count: async () => {} })
    await expect(asked).rejects.toMatchObject({ status: 400, body: { details: { reason: 'invalid_signature' } } })
  }
  expect(attacked.world.gate.asked).toEqual([])
})

test('none of them moved or credited anything, cost a fee, or left a row', () => attacked.expectUntouched())
