import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { RateLimits } from '#contract/operations/rate-limits.ts'
import { WalletBalance } from '#contract/operations/wallet.ts'
import { balanceDiem, balanceUsd } from '#contract/wire/headers.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import { audit } from '#ledger/audit/audit.ts'
import { Funding } from '#ledger/charges/funding.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, type TestWallet } from '../access/identity/signed-header.ts'
import { type ChatFixture, eventsOf, hello, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { TestClock } from './open-service.ts'

/** A chain of stakes, at the port. */
class Stakes implements StakeReader {
  readonly of = new Map<string, bigint>()
  failure: Error | 'silence' | null = null
  asked: string[][] = []

  async stakeOf(wallets: readonly string[]): Promise<bigint> {
    this.asked.push([...wallets])
    if (this.failure === 'silence') return new Promise(() => undefined)
    if (this.failure) throw this.failure
    return wallets.reduce((sum, wallet) => sum + (this.of.get(wallet) ?? 0n), 0n)
  }
}

const day = 24 * 60 * 60 * 1000

let stakes: Stakes
let fixture: ChatFixture
let clock: TestClock
beforeEach(async () => {
  stakes = new Stakes()
  clock = new TestClock()
  fixture = await openFixture({ stakes, clock, settings: { signInWindow: true } })
  // 20 tokens of the prompt and 30 of the answer: 320 micro-USD.
  fixture.engine.play([...words('one', ' two'), { usage: used(20, 30) }])
})
afterEach(async () => {
  vi.useRealTimers()
  expect(await fixture.openHolds()).toBe(0)
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  await closeSound(fixture.service)
})

let nonces = 0
const headerOf = (wallet: TestWallet) =>
  wallet.header({
    domain: '127.0.0.1:8402',
    uri: 'http://127.0.0.1:8402/api/v1/chat/completions',
    chain: '8453',
    nonce: (++nonces).toString(16).padStart(16, '0'),
    issuedAt: new Date(clock.now()).toISOString(),
  })

const nameOf = (wallet: TestWallet) => wallet.address.toLowerCase()

/** A wallet with so many tokens staked and so much USD of its own, in millionths. */
async function walletWith({ staked = 0n, usd = 0n }): Promise<TestWallet> {
  const wallet = evmWallet()
  stakes.of.set(nameOf(wallet), staked)
  if (usd === 0n) return wallet
  const atMs = clock.now()
  const account = walletAccountId(nameOf(wallet))
  const grant = { account, amount: microUsd(usd), source: 'system:grant', ref: `grant:${account}`, atMs } as const
  const ops = [...openWalletAccount(nameOf(wallet), atMs), { op: 'credit', ...grant } as const]
  expect((await fixture.service.store.commit([{ id: uuidV7(atMs), ops }]))[0]?.ok).toBe(true)
  return wallet
}

const chat = async (wallet: TestWallet, body: object = { max_tokens: 30 }) =>
  fixture.service.request('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sign-in-with-x': await headerOf(wallet) },
    body: JSON.stringify({ ...hello, ...body }),
  })

const balanceOf = async (wallet: TestWallet) => {
  const headers = { 'sign-in-with-x': await headerOf(wallet) }
  const answer = await fixture.service.request(`/api/v1/x402/balance/${wallet.address}`, { headers })
  return WalletBalance.parse(await answer.json()).data
}

const ledgerOf = (wallet: TestWallet) => fixture.ledger(walletAccountId(nameOf(wallet)))

describe('§5.4 one staked token gives 1 USD a day', () => {
  test('a wallet with nothing but a stake can call, and has an account from then on', async () => {
    const wallet = await walletWith({ staked: 1_000_000n })
    expect(await balanceOf(wallet)).toMatchObject({ balanceUsd: 0, canConsume: true, diemBalanceUsd: 1 })
    const answer = await chat(wallet)
    expect(answer.status).toBe(200)
    expect(answer.headers.get(balanceUsd.name)).toBe('0.000000')
    expect(answer.headers.get(balanceDiem.name)).toBe('1.000000')
    expect(answer.headers.get('x-balance-remaining')).toBe('0.000000')
    expect(((await answer.json()) as { cost: unknown }).cost).toEqual({ usd: 0, diem: 0.00032 })
    expect(await ledgerOf(wallet)).toMatchObject({ charged: 320n, staking: 320n })
    expect(await balanceOf(wallet)).toMatchObject({ balanceUsd: 0, diemBalanceUsd: 0.99968 })
  })

  test('it is used before USD, and USD pays the rest', async () => {
    const wallet = await walletWith({ staked: 200n, usd: 1_000_000n })
    const answer = await chat(wallet)
    expect(((await answer.json()) as { cost: unknown }).cost).toEqual({ usd: 0.00012, diem: 0.0002 })
    expect(answer.headers.get('x-balance-remaining')).toBe('0.999880')
    expect(await ledgerOf(wallet)).toMatchObject({ charged: 320n, staking: 200n })
    expect(((await (await chat(wallet)).json()) as { cost: unknown }).cost).toEqual({ usd: 0.00032, diem: 0 })
  })

  test('a stream says what it took of each', async () => {
    const wallet = await walletWith({ staked: 200n, usd: 1_000_000n })
    const answer = await chat(wallet, { stream: true, max_tokens: 30, stream_options: { include_usage: true } })
    expect(JSON.parse(eventsOf(await answer.text()).at(-2) ?? '').cost).toEqual({ usd: 0.00012, diem: 0.0002 })
  })

  test('what is left at midnight is gone, and the new day begins whole', async () => {
    const wallet = await walletWith({ staked: 1_000_000n })
    await (await chat(wallet)).text()
    clock.pass(day)
    expect(await balanceOf(wallet)).toMatchObject({ diemBalanceUsd: 1 })
    await (await chat(wallet)).text()
    expect(await balanceOf(wallet)).toMatchObject({ diemBalanceUsd: 0.99968 })
  })

  test('it counts for admission; too little of both is told with what is missing', async () => {
    const both = await walletWith({ staked: 60_000n, usd: 60_000n })
    expect((await chat(both)).status).toBe(200)
    const little = await walletWith({ staked: 60_000n, usd: 10_000n })
    const refused = await chat(little)
    expect([refused.status, await refused.json()]).toEqual([
      402,
      expect.objectContaining({ currentBalanceUsd: 0.07, minimumBalanceUsd: 0.1 }),
    ])
    expect(await balanceOf(little)).toMatchObject({ canConsume: false })
  })

  test('a wallet without a stake and without credit leaves no row behind', async () => {
    const wallet = await walletWith({})
    expect((await chat(wallet)).status).toBe(402)
    expect(await fixture.service.store.read.selectFrom('account').selectAll().execute()).toEqual([])
    expect(await balanceOf(wallet)).not.toHaveProperty('diemBalanceUsd')
  })

  test('many calls at once use a day’s credit once', async () => {
    const wallet = await walletWith({ staked: 1_000n, usd: 1_000_000n })
    const answers = await Promise.all(Array.from({ length: 5 }, () => chat(wallet)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    const { charged, staking } = await ledgerOf(wallet)
    expect(charged).toBe(1_600n)
    expect(staking).toBeLessThanOrEqual(1_000n)
    expect(staking).toBeGreaterThan(0n)
    const row = await fixture.service.store.read.selectFrom('staking_credit').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({ granted_usd: 1_000n, spent_usd: staking, held_usd: 0n })
  })

  test('the limits of a caller name it', async () => {
    const wallet = await walletWith({ staked: 2_000_000n })
    const headers = { 'sign-in-with-x': await headerOf(wallet) }
    const answer = await fixture.service.request('/api/v1/api_keys/rate_limits', { headers })
    const { data } = RateLimits.parse(await answer.json())
    expect([data.accessPermitted, data.balances]).toEqual([true, { USD: 0, DIEM: 2 }])
  })

  test('a customer without a wallet has none, and the chain is not asked', async () => {
    const customer = await fixture.customer(1)
    const answer = await fixture.chat(customer)
    expect(answer.headers.get(balanceDiem.name)).toBe('0.000000')
    expect(stakes.asked).toEqual([])
  })
})

describe('a chain that does not answer', () => {
  test.each([
    ['says so', new Error('connection refused')],
    ['is silent', 'silence' as const],
  ])('that %s stops no call that USD pays', async (_how, failure) => {
    stakes.failure = failure
    const wallet = await walletWith({ staked: 1_000_000n, usd: 1_000_000n })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const calling = chat(wallet)
    await vi.waitUntil(() => stakes.asked.length === 1, { timeout: 10_000 })
    await vi.advanceTimersByTimeAsync(2_000)
    vi.useRealTimers()
    const answer = await calling
    expect(answer.status).toBe(200)
    expect(((await answer.json()) as { cost: unknown }).cost).toEqual({ usd: 0.00032, diem: 0 })
    expect(fixture.service.logged).toEqual([expect.objectContaining({ level: 'warn' })])
    // Asked once, and not again for a while.
    expect(stakes.asked.length).toBe(1)
    await (await chat(wallet)).text()
    expect(stakes.asked.length).toBe(1)
  })

  test('the last that was known of this day counts, and nothing on the next', async () => {
    const wallet = await walletWith({ staked: 1_000_000n, usd: 1_000_000n })
    await (await chat(wallet)).text()
    stakes.failure = new Error('connection refused')
    clock.pass(60_001)
    expect(((await (await chat(wallet)).json()) as { cost: unknown }).cost).toEqual({ usd: 0, diem: 0.00032 })
    clock.pass(day)
    expect(((await (await chat(wallet)).json()) as { cost: unknown }).cost).toEqual({ usd: 0.00032, diem: 0 })
    stakes.failure = null
    clock.pass(10_001)
    expect(((await (await chat(wallet)).json()) as { cost: unknown }).cost).toEqual({ usd: 0, diem: 0.00032 })
  })

  test('a new process goes by what the ledger says of this day', async () => {
    const wallet = await walletWith({ staked: 1_000_000n, usd: 1_000_000n })
    await (await chat(wallet)).text()
    const failures: unknown[] = []
    const again = new StakingCredits({
      store: fixture.service.store,
      clock,
      reader: { stakeOf: () => Promise.reject(new Error('connection refused')) },
      onFailure: error => failures.push(error),
    })
    const account = walletAccountId(nameOf(wallet))
    const principal = { kind: 'wallet', account, wallet: nameOf(wallet), plan: 'default', isNew: false } as const
    expect(await again.left(principal)).toBe(1_000_000n - 320n)
    expect(failures.length).toBe(1)
  })
})

describe('a question that the chain answers after midnight', () => {
  const principal = { kind: 'wallet', account: 'wallet:ada', wallet: 'ada', plan: 'default', isNew: true } as const

  /** Credits whose chain answers with the next call of `answer`, and a clock one second before midnight. */
  function atMidnight() {
    clock.pass(day - (clock.now() % day) - 1_000)
    const { promise, resolve, reject } = Promise.withResolvers<bigint>()
    const credits = new StakingCredits({
      store: fixture.service.store,
      clock,
      reader: { stakeOf: () => promise },
      onFailure: () => undefined,
    })
    return { credits, resolve, reject }
  }

  test('is about the new day, for who asked before midnight and for who asks after', async () => {
    const { credits, resolve } = atMidnight()
    const before = credits.today(principal)
    clock.pass(1_500)
    const after = credits.today(principal)
    resolve(1_000_000n)
    const today = { dayMs: clock.now() - 500, granted: 1_000_000n }
    expect(await Promise.all([before, after])).toEqual([today, today])
    expect(await credits.today(principal)).toEqual(today)
  })

  test('gives nothing if it is none: what the ledger says of the day before is over', async () => {
    const wallet = await walletWith({ staked: 1_000_000n, usd: 1_000_000n })
    const { credits, reject } = atMidnight()
    // The ledger now has a row of this day.
    await (await chat(wallet)).text()
    const of = { ...principal, account: walletAccountId(nameOf(wallet)), wallet: nameOf(wallet), isNew: false }
    const asked = credits.today(of)
    clock.pass(1_500)
    reject(new Error('connection refused'))
    expect(await asked).toBeNull()
  })

  test('opens a hold on the credit and the budget of the new day', async () => {
    const { credits, resolve } = atMidnight()
    const funding = new Funding({ store: fixture.service.store, clock, staking: credits })
    const nowMs = clock.now()
    await fixture.service.store.commit([{ id: uuidV7(nowMs), ops: openWalletAccount('ada', nowMs) }])
    const key = { kind: 'key', account: 'wallet:ada', keyId: 'k', plan: 'default' } as const
    const order = { hold: 'h', principal: key, amount: microUsd(5n) }
    const taking = funding.holdOps(order, { owner: 'a test', untilMs: nowMs + 30_000 })
    clock.pass(1_500)
    resolve(1_000_000n)
    const todayMs = clock.now() - 500
    expect((await taking).at(-1)).toMatchObject({
      staking: { dayMs: todayMs },
      key: { epochStartMs: todayMs },
      atMs: clock.now(),
    })
  })
})

describe('how often the chain is asked', () => {
  test('once a minute and account, however many calls come at once', async () => {
    const wallet = await walletWith({ staked: 1_000_000n })
    await Promise.all(Array.from({ length: 4 }, () => chat(wallet)))
    expect(stakes.asked).toEqual([[nameOf(wallet)]])
    stakes.of.set(nameOf(wallet), 0n)
    clock.pass(59_000)
    expect((await chat(wallet)).status).toBe(200)
    clock.pass(2_000)
    expect((await chat(wallet)).status).toBe(402)
    expect(stakes.asked.length).toBe(2)
  })
})
