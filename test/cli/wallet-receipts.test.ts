import { beforeEach, expect, test } from 'vitest'
import { type ReceiptRow, ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { SigningKey } from '#ledger/charges/receipts.ts'
import { openState } from '#wallet/records/state.ts'
import { fakeService, order, sampleWallet, usd } from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

const service = 'https://service.example/api/v1'
const atMs = Date.UTC(2026, 10, 21, 9)

const claims = {
  ...{ iss: service, sub: '0xab', iat: atMs / 1000, kind: 'charge', request: 'r1', operation: 'createChatCompletion' },
  ...{ model: '=1+1', amount_micro_usd: '35', paid_with: { usd: '35', diem: '0' }, written_off_micro_usd: '0' },
  lines: [{ sku: 'chat.output', units: '3', unit_price_pico_usd: '1', amount_micro_usd: '35' }],
}
const receipt = new SigningKey('a secret of a test').sign(claims)

const row = (change: Partial<ReceiptRow>): ReceiptRow => ({
  ...{
    service,
    id: 'charge:r1',
    state: 'verified',
    problem: null,
    receipt,
    what: 'A chat with m',
    request: 'r1',
    call: null,
    tool: null,
  },
  ...{ operation: 'createChatCompletion', model: 'm', saidMicroUsd: usd(0.000035), mostMicroUsd: null, atMs },
  ...change,
})

let folder: string
beforeEach(async () => {
  const sample = await sampleWallet()
  await sample.wallet.pay(order(), fakeService(sample.wallet.address).send)
  folder = sample.folder
  const state = openState(folder)
  const rows = new ReceiptRows(state)
  rows.add(row({}))
  const problem = 'The receipt is for another request.'
  rows.add(row({ id: 'charge:r2', state: 'differs', problem, what: null, atMs: atMs - 1000 }))
  rows.add(row({ id: 'charge:r3', state: 'unsigned', receipt: null, saidMicroUsd: null, atMs: atMs - 2000 }))
  state.close()
  return sample.dispose
})

const receipts = async (...args: string[]) => run(['receipts', ...args, '--data', folder])

test('charges are listed with the top-ups, with what was bought and used', async () => {
  const { code, stdout } = await receipts()
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines).toHaveLength(4)
  expect(lines.filter(line => line.includes('  top-up  5.00 USD  confirmed  '))).toHaveLength(1)
  expect(lines).toEqual(
    expect.arrayContaining([
      `2026-11-21T09:00:00.000Z  charge  0.000035 USD  verified  ${service}  charge:r1  A chat with m  3 chat.output`,
      `2026-11-21T08:59:59.000Z  charge  0.000035 USD  differs  ${service}  charge:r2  =1+1  3 chat.output  The receipt is for another request.`,
      `2026-11-21T08:59:58.000Z  charge  unknown amount  unsigned  ${service}  charge:r3  A chat with m`,
    ]),
  )
})

test('as JSON with the receipt as it was signed', async () => {
  const shown = JSON.parse((await receipts('--json')).stdout) as { kind: string }[]
  expect(shown.map(({ kind }) => kind).sort()).toEqual(['charge', 'charge', 'charge', 'top-up'])
  expect(shown).toContainEqual(
    expect.objectContaining({ id: 'charge:r1', state: 'verified', amountMicroUsd: '35', service, receipt }),
  )
})

test('as CSV, where no word of a service is a formula', async () => {
  const { stdout } = await receipts('--csv')
  const [head, ...rows] = stdout.trimEnd().split('\r\n')
  expect(head).toBe('time,kind,amount_usd,state,service,id,what,model,usage,transaction,problem,receipt,tool')
  expect(rows).toHaveLength(4)
  expect(rows).toContain(
    `2026-11-21T09:00:00.000Z,charge,0.000035,verified,${service},charge:r1,A chat with m,'=1+1,3 chat.output,,,${receipt},`,
  )
})

test('one form at a time', async () => {
  expect(await receipts('--json', '--csv')).toMatchObject({ code: 2, stderr: expect.stringContaining('not both') })
})
