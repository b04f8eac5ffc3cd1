import { afterEach, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { audit } from '#ledger/audit/audit.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, type TestWallet } from '../../../access/identity/signed-header.ts'
import { used } from '../../chat-script.ts'
import { charges, claims, closeAll, type KeyFixture, openKeyFixture } from './key-fixture.ts'

let fixture: KeyFixture
afterEach(async () => {
  expect((await audit(fixture.opened.database)).findings).toEqual([])
  await closeAll([fixture])
})

let nonces = 0

async function ask(wallet: TestWallet, key: string, body: object = {}): Promise<Response> {
  const signIn = await wallet.header({
    domain: '127.0.0.1:8402',
    uri: 'http://127.0.0.1:8402/api/v1/chat/completions',
    chain: '8453',
    nonce: (++nonces).toString(16).padStart(16, '0'),
    issuedAt: new Date(fixture.opened.clock.now()).toISOString(),
  })
  return fixture.ask('', { key, body, headers: { 'sign-in-with-x': signIn, authorization: '' } })
}

async function fund(wallet: TestWallet, amount: number): Promise<void> {
  const atMs = fixture.opened.clock.now()
  const name = wallet.address.toLowerCase()
  const account = walletAccountId(name)
  const ref = `grant:${account}`
  const credit = { op: 'credit', account, amount: microUsd(amount), source: 'system:grant', ref, atMs } as const
  await fixture.opened.store.commit([{ id: `${uuidV7(atMs)}/fund`, ops: [...openWalletAccount(name, atMs), credit] }])
}

test('a wallet whose credit is below the floor by now still gets the answer that it paid for', async () => {
  fixture = await openKeyFixture()
  fixture.chat.play([{ text: 'dear' }, { usage: used(5, 1_000) }])
  const wallet = evmWallet()
  await fund(wallet, 101_000)
  const first = await ask(wallet, 'one')
  expect([first.status, first.headers.get('x-balance-remaining')]).toEqual([200, '0.090995'])
  expect((await ask(wallet, 'two')).status).toBe(402)
  const again = await ask(wallet, 'one')
  expect([again.status, again.headers.get('x-balance-remaining')]).toEqual([200, '0.090995'])
  expect(await again.text()).toBe(await first.text())
  expect(await claims(fixture)).toHaveLength(1)
})

test('a body is read without credit only where its key came before', async () => {
  fixture = await openKeyFixture()
  fixture.chat.play([{ text: 'dear' }, { usage: used(5, 1_000) }])
  const wallet = evmWallet()
  const wrong = { temperature: 9 }
  expect((await ask(wallet, 'one', wrong)).status).toBe(402)
  await fund(wallet, 101_000)
  expect((await ask(wallet, 'one', wrong)).status).toBe(400)
  expect((await ask(wallet, 'one')).status).toBe(200)
  expect((await ask(wallet, 'one', wrong)).status).toBe(400)
  expect((await ask(wallet, 'two', wrong)).status).toBe(402)
})

test('a wallet without an account leaves no row of a key behind', async () => {
  fixture = await openKeyFixture()
  const wallet = evmWallet()
  expect((await ask(wallet, 'one')).status).toBe(402)
  expect(await claims(fixture)).toEqual([])
  expect(await fixture.opened.store.read.selectFrom('account').select('id').execute()).toEqual([])
})

test('a wallet that has nothing but a stake is charged once by its first key', async () => {
  fixture = await openKeyFixture({ stakes: { stakeOf: async () => 1_000_000n } })
  const wallet = evmWallet()
  const first = await ask(wallet, 'one')
  const second = await ask(wallet, 'one')
  expect([first.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  expect(await second.text()).toBe(await first.text())
  expect(await charges(fixture)).toHaveLength(1)
})
