import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { LimitSettings } from '#access/limits/limit-rules.ts'
import { modelOverloaded } from '#contract/errors/errors.ts'
import { RateLimitLog, RateLimits } from '#contract/operations/rate-limits.ts'
import { openWalletAccount } from '#ledger/accounts/customers.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet, type TestWallet } from '../access/identity/signed-header.ts'
import { ScriptedChat } from './chat-script.ts'
import { textModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }

describe('limits through the front door', () => {
  let service: OpenedService
  afterEach(() => service.close())

  test('§8.1, §8.4 the 501st request of a minute is refused with every header, and logged', async () => {
    service = await openService()
    const key = await service.key(10)
    const answers: Response[] = []
    for (let sent = 0; sent < 501; sent++) answers.push(await service.post('/chat/completions', hello, key))
    expect(answers.filter(answer => answer.status === 200).length).toBe(500)
    const refused = answers.at(-1)
    expect([refused?.status, await refused?.json()]).toEqual([429, { error: 'Rate limit exceeded' }])
    const resetSeconds = Math.floor(service.clock.now() / 60_000) * 60 + 60
    expect(refused?.headers.get('x-ratelimit-reset-requests')).toBe(String(resetSeconds))
    expect(refused?.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    expect(refused?.headers.get('x-ratelimit-type')).toBe('user')
    service.clock.pass(60_000)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
    for (const path of ['/api_keys/rate_limit_logs', '/api_keys/rate_limits/log']) {
      const log = await service.request(`/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
      expect(RateLimitLog.parse(await log.json()).data).toMatchObject([{ modelId: 'demo-chat', rateLimitType: 'RPM' }])
    }
  })

  test.each<[whose: string, limits: LimitSettings, tier: string]>([
    ['the caller’s own', { types: { image: { requestsPerMinute: 1 } } }, 'default'],
    ['everybody’s', { global: { image: { requestsPerMinute: 1 } } }, 'global'],
  ])('§11.2 three refusals by %s limit are three rows of who was refused', async (_whose, limits, tier) => {
    service = await openService({ settings: { limits } })
    const [first, key] = [await service.key(1), await service.key(1)]
    const draw = (by: string) =>
      service.post('/image/generate', { model: 'demo-image', prompt: 'a boat', width: 64, height: 64 }, by)
    expect((await draw(tier === 'global' ? first : key)).status).toBe(200)
    for (let sent = 0; sent < 3; sent++) expect((await draw(key)).status).toBe(429)
    const log = await service.request('/api/v1/api_keys/rate_limit_logs', {
      headers: { authorization: `Bearer ${key}` },
    })
    const row = { modelId: 'demo-image', rateLimitTier: tier, rateLimitType: 'RPM' }
    expect(RateLimitLog.parse(await log.json()).data).toMatchObject([row, row, row])
  })

  test('§11.2 rows that wait for their commit are written when the service ends', async () => {
    service = await openService({ settings: { limits: { types: { image: { requestsPerMinute: 0 } } } } })
    const key = await service.key(1)
    const draw = () => service.post('/image/generate', { model: 'demo-image', prompt: 'a boat' }, key)
    for (let sent = 0; sent < 3; sent++) expect((await draw()).status).toBe(429)
    await service.service.close()
    expect(await service.store.read.selectFrom('limit_log').select('seq').execute()).toHaveLength(3)
  })

  test('§8.3 the canonical answer names each model’s limits', async () => {
    service = await openService()
    const key = await service.key(3)
    const response = await service.request('/api/v1/api_keys/rate_limits', {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data } = RateLimits.parse(await response.json())
    expect(data.balances.USD).toBe(3)
    expect(data.rateLimits).toContainEqual({
      apiModelId: 'demo-chat',
      rateLimits: [
        { amount: 500, type: 'RPM' },
        { amount: 1_000_000, type: 'TPM' },
      ],
    })
    expect(data.rateLimits).toContainEqual({ apiModelId: 'demo-video', rateLimits: [{ amount: 40, type: 'RPM' }] })
  })

  test('§7.3 the 21st failure within 30 s blocks for 30 s, the caller alone', async () => {
    service = await openService()
    const [key, other] = [await service.key(1), await service.key(1)]
    const fail = () => service.post('/chat/completions', { model: 'none', messages: hello.messages }, key)
    for (let sent = 0; sent < 21; sent++) expect((await fail()).status).toBe(404)
    const blocked = await service.post('/chat/completions', hello, key)
    expect(blocked.status).toBe(429)
    expect(await blocked.json()).toEqual({ error: expect.stringContaining('Too many failed attempts (> 20)') })
    expect((await service.post('/chat/completions', hello, other)).status).toBe(200)
    service.clock.pass(30_000)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
  })

  test('§7.3 an answer of an overloaded model is one without success, as any other', async () => {
    const engine = new ScriptedChat()
    engine.play([{ fail: modelOverloaded({ 'retry-after': '1' }) }])
    service = await openService({ models: () => [textModel({ id: 'full', engine })] })
    const key = await service.key(1)
    const ask = () => service.post('/chat/completions', { ...hello, model: 'full' }, key)
    for (let sent = 0; sent < 21; sent++) expect(await (await ask()).text()).toContain('overloaded')
    expect(await (await ask()).text()).toContain('Too many failed attempts')
  })

  test('§7.2 the 429 of an overloaded model names the moment of its Retry-After, not the end of the minute', async () => {
    const engine = new ScriptedChat()
    engine.play([{ fail: modelOverloaded({ 'retry-after': '90' }) }])
    service = await openService({ models: () => [textModel({ id: 'full', engine })] })
    const refused = await service.post('/chat/completions', { ...hello, model: 'full' }, await service.key(1))
    const again = Math.ceil(service.clock.now() / 1_000) + 90
    expect([refused.status, Number(refused.headers.get('x-ratelimit-reset-requests'))]).toEqual([429, again])
  })

  test('X20 failures without an identity block the address, and no identified caller', async () => {
    service = await openService()
    const key = await service.key(1)
    for (let sent = 0; sent < 21; sent++) await service.post('/chat/completions', hello)
    expect((await service.post('/chat/completions', hello)).status).toBe(429)
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
  })

  test('X20 a blocked key is refused everywhere, also where no key is needed, and others are not', async () => {
    service = await openService()
    const [key, other] = [await service.key(1), await service.key(1)]
    for (let sent = 0; sent < 21; sent++) await service.post('/chat/completions', { ...hello, model: 'none' }, key)
    const paths = [
      '/models',
      '/models/traits',
      '/models/compatibility_mapping',
      '/image/styles',
      '/api_keys/rate_limits',
    ]
    const statusesOf = (of?: string) =>
      Promise.all(
        paths.map(async path => {
          const headers: Record<string, string> = of ? { authorization: `Bearer ${of}` } : {}
          return (await service.request(`/api/v1${path}`, { headers })).status
        }),
      )
    expect(await statusesOf(key)).toEqual(paths.map(() => 429))
    expect(await statusesOf(other)).toEqual(paths.map(() => 200))
    expect((await statusesOf()).slice(0, 3)).toEqual([200, 200, 200])
  })

  const signIn = (wallet: TestWallet, changes?: object) =>
    wallet.header(
      {
        domain: '127.0.0.1:8402',
        uri: 'http://127.0.0.1:8402/api/v1/api_keys/rate_limits',
        chain: '8453',
        nonce: randomBytes(8).toString('hex'),
        issuedAt: new Date(service.clock.now()).toISOString(),
      },
      { ...changes },
    )

  test('S12 wallets that cost nothing to create share one limit, which a wallet with an account does not', async () => {
    service = await openService()
    const known = evmWallet()
    const [atMs, name] = [service.clock.now(), known.address.toLowerCase()]
    await service.store.commit([{ id: uuidV7(atMs), ops: openWalletAccount(name, atMs) }])
    const balance = async (wallet: TestWallet) => {
      const headers = { 'sign-in-with-x': await signIn(wallet) }
      return (await service.request(`/api/v1/x402/balance/${wallet.address}`, { headers })).status
    }
    for (let sent = 0; sent < 30; sent++) expect(await balance(evmWallet())).toBe(200)
    expect([await balance(evmWallet()), await balance(known)]).toEqual([429, 200])
  })

  const account = async (key: string) => (await service.service.keys.find(key))?.account ?? ''
  const secondKey = async (of: string) => {
    const order = { account: await account(of), label: '', expiresAtMs: null }
    return (await service.service.keys.create(order)).secret
  }

  // All come from one address, as an attacker does who sits beside the victim.
  test.each<[who: string, headers: (victim: { key: string; wallet: TestWallet }) => Promise<Record<string, string>>]>([
    ['nobody', async () => ({})],
    ['a key that there is not', async () => ({ authorization: `Bearer fb_${'x'.repeat(43)}` })],
    ['another key of the account', async ({ key }) => ({ authorization: `Bearer ${await secondKey(key)}` })],
    ['somebody else', async () => ({ authorization: `Bearer ${await service.key(1)}` })],
    [
      'a sign-in with the victim’s address and another wallet’s signature',
      async ({ wallet }) => ({
        'sign-in-with-x': await signIn(evmWallet(), { address: wallet.address }),
      }),
    ],
  ])('X20 failures of %s block neither the key nor the wallet of who did nothing', async (_who, headersOf) => {
    service = await openService()
    const victim = { key: await service.key(1), wallet: evmWallet() }
    const [atMs, name] = [service.clock.now(), victim.wallet.address.toLowerCase()]
    await service.store.commit([{ id: uuidV7(atMs), ops: openWalletAccount(name, atMs) }])
    const headers = { 'content-type': 'application/json', ...(await headersOf(victim)) }
    const body = JSON.stringify({ ...hello, model: 'none' })
    const attack = () => service.request('/api/v1/chat/completions', { method: 'POST', headers, body })
    for (let sent = 0; sent < 21; sent++) expect((await attack()).status).toBeLessThan(429)
    expect((await attack()).status).toBe(429)
    const path = '/api/v1/api_keys/rate_limits'
    const byKey = await service.request(path, { headers: { authorization: `Bearer ${victim.key}` } })
    const byWallet = await service.request(path, { headers: { 'sign-in-with-x': await signIn(victim.wallet) } })
    expect([byKey.status, byWallet.status]).toEqual([200, 200])
  })
})
