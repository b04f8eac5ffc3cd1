/** Whole tables of attacks on the console: each role at each route, each origin with each act, two operators at once. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { consoleRoutes } from '#operator/console/operator-console.ts'
import { type OperatorRole, operatorRoles } from '#pages/console/wire.ts'
import { consoleUrl, type OpenedConsole, openConsole, type SignedIn } from './opened-console.ts'

let opened: OpenedConsole
beforeEach(async () => {
  opened = await openConsole()
})
afterEach(() => opened.close())

/** The least role of each route, as an owner of a service would write it down. */
const leastRole: Record<string, OperatorRole> = {
  ...Object.fromEntries(
    [
      ...['GET /api/me', 'POST /api/sign-out', 'POST /api/live', 'POST /api/models', 'POST /api/audit'],
      ...['POST /api/recent', 'POST /api/receipt', 'POST /api/payment-problems'],
      ...['overview', 'usage', 'customers', 'customer', 'payments', 'jobs', 'entries', 'request', 'limits', 'acts'].map(
        name => `POST /api/operator/${name}`,
      ),
      ...[
        'your-sign-in',
        'your-sign-in/passkey-request',
        'your-sign-in/add-passkey',
        'your-sign-in/remove-passkey',
        'your-sign-in/password-request',
        'your-sign-in/set-password',
        'your-sign-in/remove-password',
      ].map(name => `POST /api/${name}`),
      ...['POST /api/your-sign-in/end-session', 'POST /api/prove', 'POST /api/prove/ways'],
      ...['entries', 'usage'].map(name => `POST /api/operator/${name}.csv`),
    ].map(route => [route, 'read']),
  ),
  ...Object.fromEntries(
    [
      ...['customer.create', 'customer.change', 'customer.refund', 'customer.suspend', 'customer.resume'],
      ...['job.refund', 'limit.unblock', 'payment.check'],
    ].map(name => [`POST /api/operator/${name}`, 'support']),
  ),
  ...Object.fromEntries(
    ['POST /api/operator/customer.credit', 'POST /api/operator/customer.limit', 'POST /api/settings']
      .concat('POST /api/settings/draft', 'POST /api/settings/change')
      .concat('POST /api/models/try', 'POST /api/sign-out-all', 'POST /api/operator/operators')
      .concat(['create', 'role', 'remove', 'reset'].map(act => `POST /api/operator/operator.${act}`))
      .map(route => [route, 'owner']),
  ),
}

const ask = (route: string, headers: Record<string, string>) => {
  const [method = '', path = ''] = route.split(' ')
  const init = { method, headers: { 'content-type': 'application/json', ...headers } }
  return opened.ask(path, method === 'GET' ? init : { ...init, body: '{}' })
}
const acts = () => opened.service.store.read.selectFrom('operator_act').selectAll().execute()

describe('O5: roles', () => {
  test('every route has its row here', () => {
    expect(Object.keys(consoleRoutes).sort()).toEqual(Object.keys(leastRole).sort())
  })

  test.each(Object.entries(leastRole))('O5: %s is for %s and above', async (route, least) => {
    expect([route, (await ask(route, { 'sec-fetch-site': 'same-origin', origin: consoleUrl })).status]).toEqual([
      ...[route, 401],
    ])
    for (const role of operatorRoles) {
      const { status } = await ask(route, opened.headersOf(await opened.signIn(role)))
      const isAllowed = operatorRoles.indexOf(role) >= operatorRoles.indexOf(least)
      expect([role, isAllowed ? [401, 403].includes(status) : status]).toEqual([role, isAllowed ? false : 403])
    }
    expect(await acts()).toEqual([])
  })

  test('O5: another method, path or letter case does not bypass a route’s role', async () => {
    const headers = opened.headersOf(await opened.signIn('read'))
    const path = '/api/operator/customer.suspend'
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect([method, [403, 404].includes((await ask(`${method} ${path}`, headers)).status)]).toEqual([method, true])
    for (const other of [
      ...[
        `/${path}`,
        `${path}/`,
        `${path}?role=owner`,
        `/api/./operator/customer.suspend`,
        '/API/operator/customer.suspend',
      ],
      ...[
        '/api/operator/customer%2Esuspend',
        '/api/operator%2Fcustomer.suspend',
        '/api/operator/../operator/customer.suspend',
      ],
    ]) {
      const { status } = await ask(`POST ${other}`, headers)
      expect([other, [403, 404, 405].includes(status)]).toEqual([other, true])
    }
    for (const header of ['x-http-method-override', 'x-original-url', 'x-rewrite-url'])
      expect((await ask('POST /api/live', { ...headers, [header]: path })).status).toBe(200)
    expect(await acts()).toEqual([])
  })
})

/** What a browser, or a program that has the cookie and the key, may claim about where a request comes from. */
const sites = [null, 'same-origin', 'same-site', 'cross-site', 'none', 'Same-Origin', 'same-origin, cross-site', '']
const originHeaders = [
  ...[null, consoleUrl, 'http://127.0.0.1:8402', 'http://localhost:8405', 'https://127.0.0.1:8405', 'null', ''],
  ...[
    `${consoleUrl}/`,
    `${consoleUrl}.evil.example`,
    'http://evil.example',
    'http://127.0.0.1',
    'HTTP://127.0.0.1:8405',
  ],
]
const hosts = [
  '127.0.0.1:8405',
  'localhost:8405',
  '127.0.0.1',
  '127.0.0.1:8402',
  '127.0.0.1.evil.example:8405',
  '0:8405',
]
const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/jsonp']

describe('O6: where a request comes from', () => {
  test('O6: of all sites, origins, hosts and kinds of body only the console’s own page acts', async () => {
    const { origin: _, 'sec-fetch-site': __, ...session } = opened.headersOf(await opened.signIn())
    const done: string[] = []
    for (const site of sites)
      for (const origin of originHeaders)
        for (const host of hosts)
          for (const type of types) {
            const claimed = {
              ...(site === null ? {} : { 'sec-fetch-site': site }),
              ...(origin === null ? {} : { origin }),
              ...{ host, 'content-type': type },
            }
            const { status } = await ask('POST /api/live', { ...session, ...claimed })
            if (status === 200) done.push(JSON.stringify([site, origin, host, type]))
            else expect([claimed, status]).toEqual([claimed, host !== '127.0.0.1:8405' || status !== 400 ? 403 : 400])
          }
    expect(done).toEqual([
      JSON.stringify([null, consoleUrl, '127.0.0.1:8405', 'application/json']),
      JSON.stringify(['same-origin', consoleUrl, '127.0.0.1:8405', 'application/json']),
    ])
  }, 60_000)

  test('O6: a body that is too long, chunked, an array or no JSON is refused', async () => {
    const headers = { ...opened.headersOf(await opened.signIn()), 'content-type': 'application/json' }
    const sent = (body: string, more: Record<string, string> = {}) =>
      opened.ask('/api/live', { method: 'POST', body, headers: { ...headers, ...more } })
    for (const body of ['', '[]', '"x"', 'null', '{', '{"a":1}{"b":2}'])
      expect([body.slice(0, 20), (await sent(body)).status]).toEqual([body.slice(0, 20), 400])
    for (const body of [' '.repeat(16_385), `{"a":"${'x'.repeat(20_000)}"}`])
      expect((await sent(body)).status).toBe(413)
    const deep = `{"a":${'['.repeat(8_000)}${']'.repeat(8_000)}}`
    expect((await sent(deep)).status).toBe(200)
  })
})

describe('two operators at once', () => {
  let [one, other]: SignedIn[] = []
  beforeEach(async () => {
    ;[one, other] = [await opened.signIn('owner'), await opened.signIn('support')]
    const { clock, store } = opened.service
    const atMs = clock.now()
    const [outcome] = await store.commit([
      {
        id: `${uuidV7(atMs)}/made`,
        ops: [
          { op: 'account', account: 'ada', kind: 'customer', atMs },
          { op: 'credit', account: 'ada', amount: microUsd(100n), source: 'system:grant', ref: 'grant:first', atMs },
          {
            ...{ op: 'hold', hold: 'r', account: 'ada', amount: microUsd(60n), atMs },
            lease: { owner: 'a test', untilMs: atMs + 60_000 },
          },
          {
            ...{ op: 'capture', hold: 'r', request: 'r', model: 'm', atMs },
            lines: [{ sku: 's', units: 1n, unitPricePicoUsd: 40_000_000n, amount: microUsd(40n) }],
          },
        ],
      },
    ])
    expect(outcome).toMatchObject({ ok: true })
  })
  const act = (name: string, body: object, session: SignedIn | undefined) =>
    opened.act(`/api/operator/${name}`, body, session ?? { cookie: '', key: '' })
  const state = () =>
    opened.service.store.read
      .selectFrom('account')
      .select(['posted', 'suspended_at_ms'])
      .where('id', '=', 'ada')
      .executeTakeFirstOrThrow()

  test('O12: a double click credits once; two credits of two dialogs are two', async () => {
    const credit = (id: string) => act('customer.credit', { customer: 'ada', usd: '0.00005', reason: 'r', id }, one)
    const answers = await Promise.all(['a', 'a', 'a', 'b'].map(credit))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await state()).posted).toBe(160n)
    expect((await acts()).filter(row => row.act === 'customer.credit')).toHaveLength(2)
  })

  test('O12: however many refund a request at once, its charge goes back once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, place) =>
        act('customer.refund', { request: 'r', reason: 'r' }, place % 2 ? one : other),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect((await state()).posted).toBe(100n)
    expect((await acts()).map(row => row.act)).toEqual(['customer.refund'])
    const entries = await opened.service.store.read.selectFrom('entry').select(['kind', 'effect']).execute()
    const of = (kind: string) => entries.reduce((sum, row) => sum + (row.kind === kind ? row.effect : 0n), 0n)
    expect(of('REFUND')).toBe(-of('CHARGE'))
  })

  test('O12: suspended and resumed at once, the customer is in the state of the last row of the log', async () => {
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        act('customer.suspend', { customer: 'ada', reason: 'r' }, one),
        act('customer.resume', { customer: 'ada' }, other),
        act('customer.suspend', { customer: 'ada', reason: 's' }, other),
        act('customer.resume', { customer: 'ada' }, one),
      ])
      const last = (await acts()).at(-1)?.act
      expect((await state()).suspended_at_ms === null).toBe(last === 'customer.resume')
    }
  })
})
