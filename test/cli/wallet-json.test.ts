import { expect, test } from 'vitest'
import { ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { openState } from '#wallet/records/state.ts'
import { fakeService, order, sampleWallet } from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

test('no word of a service tells a terminal anything as JSON, and all of it is there', async () => {
  const { wallet, folder, dispose } = await sampleWallet()
  await wallet.pay(order(), fakeService(wallet.address).send)
  const model = '\u009b31m\u007f\u202eX\u2028\u{e0041}\u001b[2J'
  const state = openState(folder)
  new ReceiptRows(state).add({
    ...{ service: 'https://service.example', id: 'charge:r1', state: 'unsigned', problem: null, receipt: null, model },
    ...{
      what: null,
      request: null,
      call: null,
      tool: null,
      operation: null,
      saidMicroUsd: null,
      mostMicroUsd: null,
      atMs: 0,
    },
  })
  state.close()
  const { stdout } = await run(['receipts', '--json', '--data', folder])
  expect(stdout.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ id: 'charge:r1', model }))
  await dispose()
})
