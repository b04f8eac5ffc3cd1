import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { hourMs, minuteMs } from '#contract/time.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { openConsole } from '../operator/console/opened-console.ts'
import { fromItself, type OpenedAccount, openAccount, serviceUrl } from './opened-account.ts'

let opened: OpenedAccount
beforeEach(async () => {
  opened = await openAccount()
})
afterEach(() => opened.close())

const status = async (answer: Promise<Response>) => (await answer).status
const me = '/account/api/me'
const { host } = new URL(serviceUrl)
const marks = () => opened.store.read.selectFrom('nonce').select('id').execute()

describe('sign-in', () => {
  test('C1: neither the key nor the session is in the store, only hashes', async () => {
    const { key } = await opened.newKey()
    const session = await opened.signIn(key)
    const stored = JSON.stringify(await marks())
    expect(stored).toContain('account-session:')
    for (const secret of [key, session.cookie.split('=')[1] ?? '', session.key]) {
      expect(secret).toMatch(/^(fb_)?[\w-]{43}$/)
      expect(stored).not.toContain(secret)
    }
  })

  test.each([[''], ['x'.repeat(43)], [`fb_${'x'.repeat(43)}`], [null], [{ $ne: '' }], [['fb_']]])(
    'C2: %j is no key',
    async key => {
      expect(await status(opened.spend(key))).toBe(401)
      expect(await marks()).toEqual([])
    },
  )

  test('C2: a caller that guesses keys or sessions must wait, even with the right key', async () => {
    const { key } = await opened.newKey()
    const session = await opened.signIn(key)
    const wrong = { cookie: `farebox_account=${'x'.repeat(43)}`, key: 'y'.repeat(43) }
    for (let guess = 0; guess < 10; guess++) {
      expect(await status(opened.spend(`fb_${`${guess}`.repeat(43)}`))).toBe(401)
      expect(await status(opened.get(me, wrong))).toBe(401)
    }
    const refused = await opened.spend(key)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(await status(opened.get(me, wrong))).toBe(429)
    // Another customer behind this address goes on.
    expect(await status(opened.get(me, session))).toBe(200)
    opened.service.clock.pass(minuteMs)
    expect(await status(opened.spend(key))).toBe(200)
  })

  test('C2: one key signs in twenty times a minute, and another one still does', async () => {
    const [one, other] = [await opened.newKey(), await opened.newKey()]
    for (let time = 0; time < 20; time++) expect(await status(opened.spend(one.key))).toBe(200)
    expect(await status(opened.spend(one.key))).toBe(429)
    expect(await status(opened.spend(other.key))).toBe(200)
  })

  test('C2: a session that asks for too much waits', async () => {
    const session = await opened.signIn((await opened.newKey()).key)
    const asked = await Promise.all(Array.from({ length: 310 }, () => status(opened.get(me, session))))
    expect(asked.filter(each => each === 200)).toHaveLength(300)
    expect(asked.filter(each => each === 429)).toHaveLength(10)
  })

  test('C2: all INFERENCE keys of an account together sign in twenty times a minute', async () => {
    const { account } = await opened.newKey()
    const keys = [
      await opened.newKey({ account, role: 'INFERENCE' }),
      await opened.newKey({ account, role: 'INFERENCE' }),
    ]
    for (let time = 0; time < 20; time++) expect(await status(opened.spend(keys[time % 2]?.key))).toBe(200)
    for (const { key } of keys) expect(await status(opened.spend(key))).toBe(429)
  })

  test.each([
    ['an INFERENCE key', { role: 'INFERENCE' }],
    ['an ADMIN key with a budget', { role: 'ADMIN', budget: { period: 'lifetime', usd: microUsd(1), staking: null } }],
  ] as const)('C2: someone who found %s cannot keep the owner from revoking it', async (_what, found) => {
    const { key, account } = await opened.newKey()
    const stolen = await opened.newKey({ account, ...found })
    const owner = await opened.signIn(key)
    const thief = await opened.signIn(stolen.key)
    while ((await status(opened.spend(stolen.key))) === 200);
    while ((await status(opened.get(me, thief))) === 200);
    expect(await status(opened.spend(key))).toBe(200)
    expect(await status(opened.act('keys/revoke', { id: stolen.keyId }, owner))).toBe(200)
    expect(await status(opened.get(me, thief))).toBe(401)
  })
})

describe('sessions', () => {
  test('C3: the secrets of a session are new, whatever the browser had, and the former session ends', async () => {
    const { key } = await opened.newKey()
    const planted = { cookie: `farebox_account=${'p'.repeat(43)}`, key: 'p'.repeat(43) }
    const response = await opened.spend(key, opened.headersOf(planted))
    const cookie = response.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^farebox_account=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/account$/)
    expect(cookie).not.toContain(planted.cookie)
    expect(await status(opened.get(me, planted))).toBe(401)
    const session = {
      cookie: cookie.split(';')[0] ?? '',
      key: ((await response.json()) as { key: string }).key,
    }
    expect(await status(opened.get(me, session))).toBe(200)
    expect(await status(opened.spend(key, opened.headersOf(session)))).toBe(200)
    expect(await status(opened.get(me, session))).toBe(401)
  })

  test('C3: the cookie alone opens nothing, nor the key, nor halves of two sessions', async () => {
    const { key } = await opened.newKey()
    const [one, other] = [await opened.signIn(key), await opened.signIn(key)]
    expect(await status(opened.get(me, { ...one, key: '' }))).toBe(401)
    expect(await status(opened.get(me, { ...one, cookie: '' }))).toBe(401)
    expect(await status(opened.get(me, { cookie: one.cookie, key: other.key }))).toBe(401)
    expect(await status(opened.get(me, one))).toBe(200)
  })

  test('C4: a session ends after half an hour without use, and after twelve hours however busy it is', async () => {
    const { key } = await opened.newKey()
    const idle = await opened.signIn(key)
    opened.service.clock.pass(31 * minuteMs)
    expect(await status(opened.get(me, idle))).toBe(401)
    const busy = await opened.signIn(key)
    for (let part = 0; part < 12 * 3 - 1; part++) {
      opened.service.clock.pass(20 * minuteMs)
      expect(await status(opened.get(me, busy))).toBe(200)
    }
    opened.service.clock.pass(hourMs / 3)
    expect(await status(opened.get(me, busy))).toBe(401)
  })

  test('C4: signing out ends this session, and signing out everywhere those of the account', async () => {
    const { key, account } = await opened.newKey()
    const another = await opened.newKey({ account, role: 'INFERENCE' })
    const stranger = await opened.signIn((await opened.newKey()).key)
    const [one, two, three] = [await opened.signIn(key), await opened.signIn(key), await opened.signIn(another.key)]
    expect(await status(opened.act('sign-out', {}, one))).toBe(200)
    expect([await status(opened.get(me, one)), await status(opened.get(me, two))]).toEqual([401, 200])
    const ended = await opened.act('sign-out-all', {}, two)
    expect(await ended.json()).toEqual({ said: 'Ended 2 sessions, including this one.' })
    for (const each of [two, three]) expect(await status(opened.get(me, each))).toBe(401)
    expect(await status(opened.get(me, stranger))).toBe(200)
  })

  test('C4: an INFERENCE key signs out its own sessions and no others', async () => {
    const { key, account } = await opened.newKey()
    const another = await opened.newKey({ account, role: 'INFERENCE' })
    const [admin, one, two] = [
      await opened.signIn(key),
      await opened.signIn(another.key),
      await opened.signIn(another.key),
    ]
    const { said } = (await (await opened.act('sign-out-all', {}, one)).json()) as { said: string }
    expect(said).toMatch(/^Ended 2 sessions/)
    expect([await status(opened.get(me, two)), await status(opened.get(me, admin))]).toEqual([401, 200])
  })

  test('C5: a session ends with its key: revoked, also by another process, or expired', async () => {
    const { key, keyId, account } = await opened.newKey()
    const session = await opened.signIn(key)
    const atMs = opened.service.clock.now()
    const revoked = { id: `${uuidV7(atMs)}/another-process`, ops: [{ op: 'revokeKey' as const, key: keyId, atMs }] }
    expect(await opened.store.commit([revoked])).toMatchObject([{ ok: true }])
    expect(await status(opened.get(me, session))).toBe(401)
    expect(await status(opened.spend(key))).toBe(401)
    const { keys } = opened.service.service
    const short = await keys.create({ account, label: '', expiresAtMs: atMs + minuteMs })
    const last = await opened.signIn(short.secret)
    expect(await status(opened.get(me, last))).toBe(200)
    opened.service.clock.pass(minuteMs)
    expect(await status(opened.get(me, last))).toBe(401)
  })
})

describe('other pages', () => {
  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port or subdomain', { 'sec-fetch-site': 'same-site' }],
    ['the address line', { 'sec-fetch-site': 'none' }],
  ])('C6: a request from %s is refused although it has the session', async (_what, headers) => {
    const session = opened.headersOf(await opened.signIn((await opened.newKey()).key))
    expect(await status(opened.ask(me, { headers: { ...session, ...headers } }))).toBe(403)
    expect(await status(opened.post('/account/api/sign-out', {}, { ...session, ...headers }))).toBe(403)
    expect(await status(opened.ask(me, { headers: session }))).toBe(200)
  })

  test.each([
    ['another origin', { origin: 'http://127.0.0.1:8405' }],
    ['no origin at all', {}],
    ['the origin of a file', { origin: 'null' }],
  ])('C6: an act with %s is refused where a browser names no site', async (_what, headers) => {
    const { key } = await opened.newKey()
    const { origin: _, 'sec-fetch-site': __, ...session } = opened.headersOf(await opened.signIn(key))
    expect(await status(opened.post('/account/api/sign-out', {}, { ...session, ...headers }))).toBe(403)
    expect(await status(opened.spend(key, headers))).toBe(403)
    expect(await status(opened.post('/account/api/sign-out', {}, { ...session, origin: serviceUrl }))).toBe(200)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'C6: a body as %j is refused: a form of another site can send it',
    async type => {
      const session = opened.headersOf(await opened.signIn((await opened.newKey()).key))
      const headers = { ...session, 'content-type': type }
      const response = await opened.ask('/account/api/sign-out', { method: 'POST', body: '{}', headers })
      expect(response.status).toBe(400)
    },
  )

  test.each(['evil.example', 'evil.example:8402', '127.0.0.1', '127.0.0.1:8405'])(
    'C7: a request for %j is refused, the page too',
    async host => {
      const session = opened.headersOf(await opened.signIn((await opened.newKey()).key))
      expect(await status(opened.ask(me, { headers: { ...session, host } }))).toBe(403)
      expect(await status(opened.ask('/account', { headers: { host } }))).toBe(403)
    },
  )

  test.each(['/account', '/account/page.js', '/account/keys', me, '/account/nothing.txt'])(
    'C8: %s cannot be framed, cached or given another script',
    async path => {
      const { headers } = await opened.ask(path, { headers: fromItself })
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      const policy = headers.get('content-security-policy') ?? ''
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
        expect(policy.split('; ')).toContain(rule)
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
    },
  )
})

describe('the other door', () => {
  test('C10: a customer’s session is nothing at the operators’ address or the API, and an operator’s nothing here', async () => {
    const console = await openConsole()
    const operator = await console.signIn()
    const body = JSON.stringify({ key: await console.service.key(5) })
    const length = `${Buffer.byteLength(body)}`
    const signedIn = await console.service.request('/account/api/session', {
      ...{ method: 'POST', body },
      headers: { ...fromItself, 'content-type': 'application/json', 'content-length': length, host },
    })
    const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')
    const customer = { cookie, key: ((await signedIn.json()) as { key: string }).key }
    expect(cookie).toMatch(/^farebox_account=/)
    const asConsole = { ...customer, cookie: cookie.replace('farebox_account', 'farebox_console') }
    for (const each of [customer, asConsole]) expect(await status(console.get('/api/me', each))).toBe(401)
    const asAccount = { ...operator, cookie: operator.cookie.replace('farebox_console', 'farebox_account') }
    for (const each of [operator, asAccount]) {
      const headers = { ...fromItself, cookie: each.cookie, [pageKeyHeader]: each.key, host }
      expect((await console.service.request(me, { headers })).status).toBe(401)
      expect([401, 402]).toContain((await console.service.request('/api/v1/api_keys', { headers })).status)
    }
    await console.close()
  })

  test('C10: without a session every path of the page’s API answers alike', async () => {
    for (const path of [me, '/account/api/nothing', '/account/api/__proto__'])
      expect(await status(opened.ask(path, { headers: fromItself }))).toBe(401)
    const session = await opened.signIn((await opened.newKey()).key)
    for (const path of ['/account/api/nothing', '/account/api/__proto__', '/account/api/constructor'])
      expect(await status(opened.get(path, session))).toBe(404)
  })
})

test('behind a TLS proxy the cookie is bound to its host and to TLS', async () => {
  await opened.close()
  const publicUrl = 'https://api.example'
  opened = await openAccount({ settings: { publicUrl } }, publicUrl)
  const response = await opened.spend((await opened.newKey()).key)
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/^__Host-farebox_account=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Secure$/)
  const { key } = (await response.json()) as { key: string }
  expect(await status(opened.get(me, { cookie: cookie.split(';')[0] ?? '', key }))).toBe(200)
})
