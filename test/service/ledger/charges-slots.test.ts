import { afterEach, beforeEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, type TestWallet } from '../../access/identity/signed-header.ts'
import { type ChatFixture, hello, openFixture } from '../chat-fixture.ts'
import { used, words } from '../chat-script.ts'

let fixture: ChatFixture
let wallet: TestWallet
let account: string
beforeEach(async () => {
  fixture = await openFixture({ settings: { signInWindow: true } })
  fixture.engine.play([...words('one'), { usage: used(20, 1) }])
  wallet = evmWallet()
  account = walletAccountId(wallet.address.toLowerCase())
  const atMs = fixture.service.clock.now()
  const grant = { account, amount: microUsd(1_000_000), source: 'system:grant', ref: 'grant:slots', atMs } as const
  await commit(...openWalletAccount(wallet.address.toLowerCase(), atMs), { op: 'credit', ...grant })
})
afterEach(() => fixture.service.close())

async function commit(...ops: Op[]): Promise<void> {
  const [outcome] = await fixture.service.store.commit([{ id: uuidV7(fixture.service.clock.now()), ops }])
  expect(outcome?.ok).toBe(true)
}

/** A call of the same wallet that runs in another process. */
async function elsewhere(): Promise<() => Promise<void>> {
  const { clock } = fixture.service
  const hold = uuidV7(clock.now())
  const lease = { owner: 'another process', untilMs: clock.now() + 60_000 }
  await commit({ op: 'hold', hold, account, amount: microUsd(100), lease, atMs: clock.now() })
  return () => commit({ op: 'release', hold })
}

const chat = async () => {
  const header = await wallet.header({
    domain: '127.0.0.1:8402',
    uri: 'http://127.0.0.1:8402/api/v1/chat/completions',
    chain: '8453',
    nonce: '00000000000000a1',
    issuedAt: new Date(fixture.service.clock.now()).toISOString(),
  })
  return fixture.service.request('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
    body: JSON.stringify(hello),
  })
}

test('five calls of a wallet at once, over all processes together: the sixth is told to try again in a moment', async () => {
  const ends: (() => Promise<void>)[] = []
  for (let calls = 0; calls < 5; calls++) ends.push(await elsewhere())
  const sixth = await chat()
  expect([sixth.status, await sixth.json()]).toEqual([
    429,
    { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' },
  ])
  expect(sixth.headers.get('retry-after')).toBe('1')
  expect(fixture.engine.calls).toEqual([])
  await ends[0]?.()
  expect((await chat()).status).toBe(200)
})

test('an API key has no such limit, as the published contract has none', async () => {
  const customer = await fixture.customer(1)
  const wait = Promise.withResolvers<void>()
  fixture.engine.play([{ until: wait.promise }, ...words('one'), { usage: used(20, 1) }])
  const calls = Array.from({ length: 8 }, () => fixture.chat(customer, { max_tokens: 5 }))
  await expect.poll(() => fixture.openHolds()).toBe(8)
  wait.resolve()
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
})
