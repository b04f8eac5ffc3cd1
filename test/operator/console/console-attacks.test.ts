import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hourMs, minuteMs } from '#contract/time.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { consoleUrl, fromItself, type OpenedConsole, openConsole } from './opened-console.ts'

let opened: OpenedConsole
beforeEach(async () => {
  opened = await openConsole()
})
afterEach(() => opened.close())

const status = async (answer: Promise<Response>) => (await answer).status
const marks = () => opened.service.store.read.selectFrom('nonce').select('id').execute()

describe('links', () => {
  test('O1: a link works once, and within five minutes', async () => {
    const token = await opened.newToken()
    expect(await status(opened.spend(token))).toBe(200)
    expect(await status(opened.spend(token))).toBe(410)
    const late = await opened.newToken()
    opened.service.clock.pass(5 * minuteMs + 1)
    expect(await status(opened.spend(late))).toBe(410)
  })

  test('O1: of browsers that spend one link at once, one gets in', async () => {
    const token = await opened.newToken()
    const answers = await Promise.all(Array.from({ length: 20 }, () => status(opened.spend(token))))
    expect(answers.filter(each => each === 200)).toEqual([200])
  })

  test('O1: neither links nor sessions are in the store, only their hashes', async () => {
    const token = await opened.newToken()
    const session = await opened.signIn()
    const stored = JSON.stringify(await marks())
    for (const secret of [token, session.cookie.split('=')[1] ?? '', session.key]) {
      expect(secret).toMatch(/^[\w-]{43}$/)
      expect(stored).not.toContain(secret)
    }
  })

  test.each([[''], ['x'.repeat(43)], [null], [{ $ne: '' }], ['../../etc/passwd'], [`${'a'.repeat(43)}:owner:`]])(
    'O2: %j is not a link',
    async token => {
      expect(await status(opened.spend(token))).toBe(410)
      expect(await marks()).toEqual([])
    },
  )

  test('O2: an address that guesses waits; another address does not', async () => {
    for (let guess = 0; guess < 20; guess++) expect(await status(opened.spend(`guess ${guess}`))).toBe(410)
    const refused = await opened.spend('guess 20')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(await status(opened.spend('guess 21', fromItself, '::1'))).toBe(410)
    opened.service.clock.pass(minuteMs)
    expect(await status(opened.spend('guess 22'))).toBe(410)
  })

  test('O2: a right link works although others guess at its address, as behind a proxy', async () => {
    for (let guess = 0; guess < 30; guess++) await opened.spend(`guess ${guess}`)
    const token = await opened.newToken()
    expect(await status(opened.spend(token))).toBe(200)
    expect(await status(opened.spend(token))).toBe(429)
  })
})

describe('sessions', () => {
  test('O3: the secrets of a session are new, whatever cookie the browser had', async () => {
    const planted = `farebox_console=${'p'.repeat(43)}`
    const response = await opened.spend(await opened.newToken(), {
      ...fromItself,
      cookie: planted,
      [pageKeyHeader]: 'p'.repeat(43),
    })
    const { key } = (await response.json()) as { key: string }
    const [cookie = '', device] = response.headers.getSetCookie()
    expect(device).toMatch(/^farebox_device=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=7776000$/)
    expect(cookie).toMatch(/^farebox_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(await status(opened.get('/api/me', { cookie: planted, key }))).toBe(401)
    expect(await status(opened.get('/api/me', { cookie: planted, key: 'p'.repeat(43) }))).toBe(401)
    expect(await status(opened.get('/api/me', { cookie: cookie.split(';')[0] ?? '', key }))).toBe(200)
  })

  test('O3: the cookie alone opens nothing, nor the key, nor halves of two sessions', async () => {
    const [one, other] = [await opened.signIn(), await opened.signIn()]
    expect(await status(opened.get('/api/me', { ...one, key: '' }))).toBe(401)
    expect(await status(opened.get('/api/me', { ...one, cookie: '' }))).toBe(401)
    expect(await status(opened.get('/api/me', { cookie: one.cookie, key: other.key }))).toBe(401)
    expect(await status(opened.get('/api/me', one))).toBe(200)
  })

  test('O4: a session ends after half an hour without use', async () => {
    const session = await opened.signIn()
    for (let use = 0; use < 5; use++) {
      opened.service.clock.pass(20 * minuteMs)
      expect(await status(opened.get('/api/me', session))).toBe(200)
    }
    opened.service.clock.pass(31 * minuteMs)
    expect(await status(opened.get('/api/me', session))).toBe(401)
  })

  test('O4: a session ends after eight hours, however busy it is', async () => {
    const session = await opened.signIn()
    const beginMs = opened.service.clock.now()
    while (opened.service.clock.now() < beginMs + 8 * hourMs - 10 * minuteMs) {
      expect(await status(opened.get('/api/me', session))).toBe(200)
      opened.service.clock.pass(10 * minuteMs)
    }
    opened.service.clock.pass(10 * minuteMs)
    expect(await status(opened.get('/api/me', session))).toBe(401)
  })

  test('O4: signing out ends this session; an owner or a terminal ends all, and links that were not opened', async () => {
    const [one, other] = [await opened.signIn(), await opened.signIn()]
    expect(await status(opened.act('/api/sign-out', {}, one))).toBe(200)
    expect([await status(opened.get('/api/me', one)), await status(opened.get('/api/me', other))]).toEqual([401, 200])
    const token = await opened.newToken()
    const ended = await opened.act('/api/sign-out-all', {}, other)
    expect(await ended.json()).toEqual({ said: 'Ended 1 session, including this one.' })
    expect(await status(opened.get('/api/me', other))).toBe(401)
    expect(await status(opened.spend(token))).toBe(410)
  })

  test('O5: a role can do what it allows, and no more', async () => {
    const session = await opened.signIn('read')
    expect(await (await opened.get('/api/me', session)).json()).toMatchObject({ role: 'read', by: 'ada' })
    expect(await status(opened.act('/api/sign-out-all', {}, session))).toBe(403)
    expect(await status(opened.act('/api/sign-out-all', {}, await opened.signIn('support')))).toBe(403)
  })
})

describe('other pages', () => {
  const read = (headers: Record<string, string>) => opened.ask('/api/me', { headers })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of this machine', { 'sec-fetch-site': 'same-site' }],
    ['the address line', { 'sec-fetch-site': 'none' }],
  ])('O6: a request from %s is refused although it has the session', async (_what, headers) => {
    const session = opened.headersOf(await opened.signIn())
    expect(await status(read({ ...session, ...headers }))).toBe(403)
    expect(await status(opened.post('/api/sign-out', {}, { ...session, ...headers }))).toBe(403)
    expect(await status(read(session))).toBe(200)
  })

  test.each([
    ['another origin', { origin: 'http://127.0.0.1:9999' }],
    ['no origin at all', {}],
    ['the origin of a file', { origin: 'null' }],
  ])('O6: an act with %s is refused where a browser names no site', async (_what, headers) => {
    const { origin: _, 'sec-fetch-site': __, ...session } = opened.headersOf(await opened.signIn())
    expect(await status(opened.post('/api/sign-out', {}, { ...session, ...headers }))).toBe(403)
    expect(await status(opened.post('/api/sign-out', {}, { ...session, origin: consoleUrl }))).toBe(200)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'O6: a body as %j is refused: a form of another site can send it',
    async type => {
      const session = opened.headersOf(await opened.signIn())
      const response = await opened.ask('/api/sign-out', {
        method: 'POST',
        body: '{}',
        headers: { ...session, 'content-type': type },
      })
      expect(response.status).toBe(400)
    },
  )

  test.each(['evil.example', 'evil.example:8405', '127.0.0.1', '127.0.0.1:8402', '[::1]:8405', ''])(
    'O7: a request for %j is refused, the page too',
    async host => {
      const session = opened.headersOf(await opened.signIn())
      expect(await status(opened.ask('/api/me', { headers: { ...session, host } }))).toBe(403)
      expect(await status(opened.ask('/', { headers: { host } }))).toBe(403)
    },
  )

  test.each(['/', '/page.js', '/customers', '/api/me', '/nothing.txt'])(
    'O8: %s cannot be framed, cached or given another script',
    async path => {
      const { headers } = await opened.ask(path, { headers: fromItself })
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cache-control')).toBe('no-store')
      const policy = headers.get('content-security-policy') ?? ''
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
        expect(policy.split('; ')).toContain(rule)
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
    },
  )
})

describe('customers', () => {
  test('O9: a customer’s key is nothing here, and an operator’s session nothing at the API', async () => {
    const key = await opened.service.key(5)
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { 'x-api-key': key },
      { cookie: `farebox_console=${key}` },
    ])
      expect(
        await status(opened.ask('/api/me', { headers: { ...fromItself, ...headers, [pageKeyHeader]: key } })),
      ).toBe(401)
    const session = opened.headersOf(await opened.signIn())
    for (const path of ['/api/me', '/api/v1/api_keys', '/admin/v1/ledger', '/console'])
      expect([401, 404]).toContain(await status(opened.service.request(path, { headers: session })))
  })

  test('O9: without a session every path of the API answers alike', async () => {
    for (const path of ['/api/me', '/api/nothing', '/api/sign-out', '/api/__proto__'])
      expect(await status(opened.ask(path, { headers: fromItself }))).toBe(401)
    const session = await opened.signIn()
    for (const path of ['/api/nothing', '/api/__proto__', '/api/constructor'])
      expect(await status(opened.get(path, session))).toBe(404)
  })
})

test('behind a TLS proxy the cookie is bound to its host and to TLS', async () => {
  await opened.close()
  const publicUrl = 'https://console.example'
  opened = await openConsole({}, [publicUrl, consoleUrl])
  const headers = { host: 'console.example', origin: publicUrl, 'sec-fetch-site': 'same-origin' }
  const response = await opened.spend(await opened.newToken(), headers)
  const [cookie = '', device] = response.headers.getSetCookie()
  expect(device).toMatch(/^__Host-farebox_device=.*; Path=\/; Secure; Max-Age=7776000$/)
  expect(cookie).toMatch(/^__Host-farebox_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Secure$/)
  const { key } = (await response.json()) as { key: string }
  const sent = { ...headers, cookie: cookie.split(';')[0] ?? '', [pageKeyHeader]: key }
  expect(await status(opened.ask('/api/me', { headers: sent }))).toBe(200)
})

test.each([
  ['a proxy that the service trusts: each browser has its own count', ['127.0.0.1'], [429, 401]],
  ['an untrusted proxy: the header is ignored', [], [429, 429]],
])('O23: behind %s', async (_what, trustedProxies, expected) => {
  await opened.close()
  opened = await openConsole({ settings: { trustedProxies } })
  const guessFrom = (address: string) =>
    status(opened.post('/api/sign-in/passkey', { credential: {} }, { ...fromItself, 'x-forwarded-for': address }))
  for (let guess = 0; guess < 5; guess++) expect(await guessFrom('198.51.100.1')).toBe(401)
  expect([await guessFrom('198.51.100.1'), await guessFrom('203.0.113.1')]).toEqual(expected)
})
