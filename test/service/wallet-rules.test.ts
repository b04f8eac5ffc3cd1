import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { WalletBalance, WalletTransactions } from '#contract/operations/wallet.ts'
import { balanceRemaining, paymentRequired } from '#contract/wire/headers.ts'
import { DiscoveryRequired, WalletCreditRequired } from '#contract/wire/payment-required.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, solanaWallet, type TestWallet } from '../access/identity/signed-header.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'Count these four words' }] }

let nonces = 0

describe('wallets through the front door', () => {
  let service: OpenedService
  beforeAll(async () => {
    service = await openService()
  })
  afterAll(() => closeSound(service))

  const signIn = (wallet: TestWallet, changes: Partial<Parameters<TestWallet['header']>[0]> = {}) => {
    const isSolana = !wallet.address.startsWith('0x')
    return wallet.header({
      domain: '127.0.0.1:8402',
      uri: 'http://127.0.0.1:8402/api/v1/chat/completions',
      chain: isSolana ? '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' : '8453',
      nonce: (++nonces).toString(16).padStart(16, '0'),
      issuedAt: new Date(service.clock.now()).toISOString(),
      ...changes,
    })
  }

  const chat = async (header: string, more: Record<string, string> = {}) =>
    service.request('/api/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sign-in-with-x': header, ...more },
      body: JSON.stringify(hello),
    })

  async function funded(wallet: TestWallet, usd: number): Promise<void> {
    const atMs = service.clock.now()
    const name = wallet.address.startsWith('0x') ? wallet.address.toLowerCase() : wallet.address
    const account = walletAccountId(name)
    const amount = microUsd(usd * 1e6)
    const outcomes = await service.store.commit([
      {
        id: `${uuidV7(atMs)}/fund`,
        ops: [
          ...openWalletAccount(name, atMs),
          { op: 'credit', account, amount, source: 'system:grant', ref: `grant:${account}:${atMs}`, atMs },
        ],
      },
    ])
    expect(outcomes[0]?.ok).toBe(true)
  }

  test.each([
    ['§5.2 EVM', evmWallet],
    ['§5.2 Solana', solanaWallet],
  ] as const)('%s wallet signs in, pays, and sees what is left', async (_rule, make) => {
    const wallet = make()
    await funded(wallet, 1)
    const response = await chat(await signIn(wallet))
    expect(response.status).toBe(200)
    const { cost } = (await response.json()) as { cost: { usd: number } }
    const left = balanceRemaining.parse(response.headers.get('x-balance-remaining') ?? '')
    expect(Number(left) + Math.round(cost.usd * 1e6)).toBe(1_000_000)
    const path = `/api/v1/x402/balance/${wallet.address}`
    const balance = await service.request(path, { headers: { 'sign-in-with-x': await signIn(wallet) } })
    expect(WalletBalance.parse(await balance.json()).data).toMatchObject({
      balanceUsd: Number(left) / 1e6,
      canConsume: true,
      minimumTopUpUsd: 5,
    })
    const list = await service.request(path.replace('balance', 'transactions'), {
      headers: { 'x-sign-in-with-x': await signIn(wallet) },
    })
    const { transactions } = WalletTransactions.parse(await list.json()).data
    expect(transactions.map(each => each.type)).toContain('CHARGE')
    expect(transactions[0]?.balanceAfter).toBeCloseTo(Number(left) / 1e6, 6)
  })

  test('§2.3, §9 fetching what was paid for names its model and what is left, as buying it does', async () => {
    const wallet = evmWallet()
    await funded(wallet, 1)
    const send = async (path: string, body: object) =>
      service.request(`/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sign-in-with-x': await signIn(wallet) },
        body: JSON.stringify({ model: 'demo-video', ...body }),
      })
    const told = ({ status, headers }: Response) => [
      status,
      ...['x-balance-remaining', 'x-service-model-id', 'x-service-model-name'].map(name => headers.get(name)),
    ]
    const bought = await send('/video/queue', { prompt: 'a boat', duration: '2s' })
    const { queue_id } = (await bought.json()) as { queue_id: string }
    expect(told(bought)).toEqual([200, '0.950000', 'demo-video', 'Demo video'])
    expect(told(await send('/video/retrieve', { queue_id }))).toEqual(told(bought))
  })

  test('§2.3 what is left is told without staking credit, also to who fetches a video', async () => {
    const staked = await openService({ clock: service.clock, stakes: { stakeOf: async () => 1_000_000n } })
    try {
      const [wallet, headers] = [evmWallet(), { 'content-type': 'application/json' }]
      const post = async (path: string, body: object) => {
        const signed = { ...headers, 'sign-in-with-x': await signIn(wallet) }
        const init = { method: 'POST', headers: signed, body: JSON.stringify({ model: 'demo-video', ...body }) }
        return staked.request(`/api/v1/video/${path}`, init)
      }
      const bought = await post('queue', { prompt: 'a boat', duration: '2s' })
      const { queue_id } = (await bought.json()) as { queue_id: string }
      const fetched = await post('retrieve', { queue_id })
      const told = [bought, fetched].map(answer => [answer.status, answer.headers.get('x-balance-remaining')])
      expect(told).toEqual([
        [200, '0.000000'],
        [200, '0.000000'],
      ])
    } finally {
      await closeSound(staked)
    }
  })

  test('§8.4 the 402 of a wallet without credit shows no limits of another tier, and the next answer those of the model', async () => {
    const wallet = evmWallet()
    const shown = ({ headers }: Response) => headers.get('x-ratelimit-limit-requests')
    const refused = await chat(await signIn(wallet))
    expect([refused.status, shown(refused)]).toEqual([402, null])
    await funded(wallet, 1)
    const paid = await chat(await signIn(wallet))
    expect([paid.status, shown(paid)]).toEqual([200, '500'])
  })

  test('A1 a sign-in works once', async () => {
    const wallet = evmWallet()
    await funded(wallet, 1)
    const header = await signIn(wallet)
    expect((await chat(header)).status).toBe(200)
    const again = await chat(header)
    expect([again.status, await again.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'X402_SIGN_IN_NONCE_REUSED' }),
    ])
  })

  test('§5.2 the wallet wins where an Authorization comes along, as the stock OpenAI client always sends one', async () => {
    const wallet = evmWallet()
    await funded(wallet, 1)
    const response = await chat(await signIn(wallet), { authorization: 'Bearer not-a-key' })
    expect(response.status).toBe(200)
  })

  const wrong: [rule: string, changes: Parameters<typeof signIn>[1], code: string][] = [
    ['A2 for another site', { domain: 'evil.example' }, 'X402_SIGN_IN_DOMAIN_MISMATCH'],
    ['A5 six minutes and more old', { issuedAt: '2026-11-21T08:50:00.000Z' }, 'X402_SIGN_IN_EXPIRED'],
    ['A5 from the future', { issuedAt: '2026-11-21T09:10:00.000Z' }, 'X402_SIGN_IN_FUTURE_TIMESTAMP'],
    ['A6 for another chain', { chain: '1' }, 'X402_SIGN_IN_UNSUPPORTED_CHAIN'],
  ]
  test.each(wrong)('%s: 401', async (_rule, changes, code) => {
    const response = await chat(await signIn(evmWallet(), changes))
    expect([response.status, await response.json()]).toEqual([401, expect.objectContaining({ code })])
  })

  test('§3.3 too little credit: 402 says what is missing and how to top up, and asks no money for this URL', async () => {
    const response = await chat(await signIn(evmWallet()))
    expect(response.status).toBe(402)
    const body = WalletCreditRequired.parse(await response.json())
    expect(body).toMatchObject({ currentBalanceUsd: 0, minimumTopUpUsd: 5, supportedChains: ['base'] })
    expect(paymentRequired.parse(response.headers.get('payment-required') ?? '')?.accepts).toEqual([])
  })

  test('A13: wallets that never paid count by address, so that new wallets do not escape the block', async () => {
    const blocked = await openService()
    const ask = async (wallet: TestWallet) =>
      blocked.request('/api/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sign-in-with-x': await signIn(wallet) },
        body: JSON.stringify(hello),
      })
    for (let sent = 0; sent < 21; sent++) expect((await ask(evmWallet())).status).toBe(402)
    const nonces = () => blocked.store.read.selectFrom('nonce').selectAll().execute()
    const before = await nonces()
    expect((await ask(evmWallet())).status).toBe(429)
    // Its signature was not even verified.
    expect(await nonces()).toEqual(before)
    expect(await blocked.store.read.selectFrom('account').selectAll().execute()).toEqual([])
    await blocked.close()
  })

  test('§5 wallet records are the wallet’s own', async () => {
    const [wallet, other] = [evmWallet(), evmWallet()]
    const path = `/api/v1/x402/balance/${other.address}`
    const foreign = await service.request(path, { headers: { 'sign-in-with-x': await signIn(wallet) } })
    expect(foreign.status).toBe(403)
    const nobody = await service.request(path)
    expect(nobody.status).toBe(402)
    DiscoveryRequired.parse(await nobody.json())
    const malformed = await service.request('/api/v1/x402/balance/nonsense', {
      headers: { 'sign-in-with-x': await signIn(wallet) },
    })
    expect(malformed.status).toBe(400)
  })

  test('§2.3 a payment on an inference route is refused by name', async () => {
    const response = await service.request('/api/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-payment': 'e30=' },
      body: JSON.stringify(hello),
    })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'PAYMENT_HEADER_NOT_ACCEPTED' }),
    ])
  })

  test('§5.2 more than five requests in flight: 429', async () => {
    const slow = await openService({
      chat: {
        complete: () => new Promise(() => undefined),
        stream: () => {
          throw new Error('not streamed here')
        },
      },
      settings: { signInWindow: true },
    })
    const wallet = evmWallet()
    const atMs = slow.clock.now()
    const account = walletAccountId(wallet.address.toLowerCase())
    const amount = microUsd(9_000_000)
    await slow.store.commit([
      {
        id: `${uuidV7(atMs)}/fund`,
        ops: [
          ...openWalletAccount(wallet.address.toLowerCase(), atMs),
          { op: 'credit', account, amount, source: 'system:grant', ref: 'grant:1', atMs },
        ],
      },
    ])
    const header = await signIn(wallet)
    const send = () =>
      slow.request('/api/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
        body: JSON.stringify({ ...hello, max_tokens: 5 }),
      })
    expect(
      (await slow.request(`/api/v1/x402/balance/${wallet.address}`, { headers: { 'sign-in-with-x': header } })).status,
    ).toBe(200)
    const pending = Array.from({ length: 5 }, send)
    await expect.poll(async () => (await slow.store.read.selectFrom('hold').selectAll().execute()).length).toBe(5)
    const sixth = await send()
    expect([sixth.status, await sixth.json()]).toEqual([
      429,
      { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' },
    ])
    expect(pending.length).toBe(5)
    await slow.store.close()
  })
})

test('a wallet without credit at a service that accepts no payments is told so, and offered nothing to sign', async () => {
  const service = await openService({ settings: { paymentOptions: [] } })
  try {
    const header = await evmWallet().header({
      domain: '127.0.0.1:8402',
      uri: 'http://127.0.0.1:8402/api/v1/chat/completions',
      chain: '8453',
      nonce: (++nonces).toString(16).padStart(16, '0'),
      issuedAt: new Date(service.clock.now()).toISOString(),
    })
    const response = await service.request('/api/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sign-in-with-x': header },
      body: JSON.stringify(hello),
    })
    expect(response.status).toBe(402)
    const required = WalletCreditRequired.parse(await response.json())
    expect(required).toMatchObject({ supportedTokens: [], supportedChains: [] })
    expect(required.message).toContain('accepts no payments')
  } finally {
    await service.close()
  }
})
