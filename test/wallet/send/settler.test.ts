/** What each answer of a facilitator means for a transfer out of the wallet; the connection is a real one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption, PaymentPayload } from '#contract/wire/payment.ts'
import { facilitatorAt, type SettlerAnswer } from '#wallet/send/settler.ts'
import { localServer } from '../../local-server.ts'

let server: Awaited<ReturnType<typeof localServer>>
let says: { status: number; body: object }
beforeAll(async () => {
  server = await localServer((_, response) => response.writeHead(says.status).end(JSON.stringify(says.body)))
})
afterAll(() => server.close())

const payTo = `0x${'c'.repeat(40)}`
const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
}
const payment = { x402Version: 2, accepted: option, payload: {} } as PaymentPayload

const hash = `0x${'ab'.repeat(32)}`
const failed = (errorReason: string, transaction = '') => ({ success: false, errorReason, transaction })
const rows: [rule: string, status: number, body: object, answer: SettlerAnswer][] = [
  ['a success', 200, { success: true, transaction: hash }, { kind: 'settled', transaction: hash }],
  ['a success without a transaction', 200, { success: true, transaction: '' }, { kind: 'settled', transaction: null }],
  ['a refusal', 200, failed('insufficient_funds'), { kind: 'refused', reason: 'insufficient_funds' }],
  ['a refusal for no reason', 402, { success: false }, { kind: 'refused', reason: 'answered 402' }],
  [
    'a transfer that was sent and not seen in a block yet',
    500,
    failed('settlement_pending', hash),
    { kind: 'unknown', reason: 'settlement_pending' },
  ],
  [
    'a transfer that it is still settling',
    200,
    failed('duplicate_settlement'),
    { kind: 'unknown', reason: 'duplicate_settlement' },
  ],
  ['missing credentials', 401, { error: 'unauthorized' }, { kind: 'refused', reason: 'answered 401' }],
  ['a fault', 502, {}, { kind: 'unknown', reason: 'answered 502' }],
]
test.each(rows)('%s', async (_rule, status, body, answer) => {
  says = { status, body }
  expect(await facilitatorAt(server.url).settle(payment, option)).toEqual(answer)
})
