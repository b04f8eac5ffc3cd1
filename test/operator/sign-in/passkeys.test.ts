import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { minuteMs } from '#contract/time.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { PasskeyCreation, ProofWays, SignInWays, YourSignIn } from '#pages/console/wire.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { adminToken } from '../../service/open-service.ts'
import { consoleUrl, type OpenedConsole, openConsole, type SignedIn } from '../console/opened-console.ts'
import { SoftwareAuthenticator } from './software-authenticator.ts'

const origin = 'http://localhost:8405'
const here = { host: 'localhost:8405', origin, 'sec-fetch-site': 'same-origin' }

let opened: OpenedConsole
beforeEach(async () => {
  opened = await openConsole({}, [consoleUrl, origin])
})
afterEach(() => opened.close())

const headersOf = ({ cookie, key }: SignedIn) => ({ ...here, cookie, [pageKeyHeader]: key })
const ask = (path: string, session: SignedIn, body: object = {}) => opened.post(path, body, headersOf(session))
const json = async <Body>(answer: Promise<Response>) => (await (await answer).json()) as Body
const status = async (answer: Promise<Response>) => (await answer).status
const cookieIn = (response: Response) => (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''

async function byLink(order: object = { role: 'owner', by: 'ada' }): Promise<SignedIn> {
  const response = await opened.service.request('/admin/v1/console/link', {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
    body: JSON.stringify(order),
  })
  const { link } = (await response.json()) as { link: string }
  const begun = await opened.spend(new URL(link).hash.slice(1), here)
  return { cookie: cookieIn(begun), key: ((await begun.json()) as SignedIn).key }
}

async function register(session: SignedIn, terms: object = {}, label = 'my laptop') {
  const authenticator = new SoftwareAuthenticator()
  const creation = await json<PasskeyCreation>(ask('/api/your-sign-in/passkey-request', session))
  const credential = authenticator.register(creation, { origin, ...terms })
  const answer = await ask('/api/your-sign-in/add-passkey', session, { credential, label })
  return { authenticator, credential, answer }
}

/** What a browser gets that opens the page without a session. */
async function waysIn(): Promise<{ ways: SignInWays; browser: string }> {
  const response = await opened.post('/api/sign-in', {}, here)
  return { ways: (await response.json()) as SignInWays, browser: cookieIn(response) }
}

async function assertion(authenticator: SoftwareAuthenticator, terms: object = {}) {
  const { ways, browser } = await waysIn()
  if (!ways.passkey) throw new Error('No passkey is asked for.')
  return { browser, credential: authenticator.sign(ways.passkey, { origin, ...terms }) }
}

const enter = ({ credential, browser }: { credential: object; browser: string }, address?: string) =>
  opened.post('/api/sign-in/passkey', { credential }, { ...here, cookie: browser }, address)

const signedIn = async (entered: Response): Promise<SignedIn> => ({
  cookie: cookieIn(entered),
  key: ((await entered.json()) as SignedIn).key,
})

describe('a passkey', () => {
  test('signs its operator in again without a terminal, and the log says who added it', async () => {
    const { authenticator, answer } = await register(await byLink())
    expect(answer.status).toBe(200)
    const session = await signedIn(await enter(await assertion(authenticator)))
    expect(await json(opened.ask('/api/me', { headers: headersOf(session) }))).toMatchObject({
      role: 'owner',
      by: 'ada',
    })
    const { rows } = await json<{ rows: object[] }>(ask('/api/operator/acts', session))
    expect(rows).toMatchObject([
      { act: 'operator.create', actor: 'console: ada', subject: 'ada', after: { passkeys: ['my laptop'] } },
    ])
    const seen = await json<YourSignIn>(ask('/api/your-sign-in', session))
    expect(seen.passkeys).toMatchObject([{ label: 'my laptop', host: 'localhost' }])
    expect(seen.sessions.map(({ how }) => how).sort()).toEqual(['link', 'passkey'])
  })

  test('of several each signs in, and one that was removed does not', async () => {
    const session = await byLink()
    const [one, other] = [await register(session), await register(session, {}, 'my phone')]
    for (const { authenticator } of [one, other]) expect(await status(enter(await assertion(authenticator)))).toBe(200)
    const id = one.credential.id
    expect(await status(ask('/api/your-sign-in/remove-passkey', session, { id }))).toBe(200)
    expect(await status(enter(await assertion(one.authenticator)))).toBe(401)
    expect(await status(enter(await assertion(other.authenticator)))).toBe(200)
  })

  test('is asked for by no address in numbers, and the page names one that can', async () => {
    const response = await opened.post('/api/sign-in', {})
    expect(await response.json()).toEqual({ passkey: null, passkeysAt: origin })
    const session = await opened.signIn()
    expect(await status(opened.act('/api/your-sign-in/passkey-request', {}, session))).toBe(409)
  })

  test('is asked for without writing the challenge down', async () => {
    const { authenticator } = await register(await byLink())
    const { ways, browser } = await waysIn()
    const stored = JSON.stringify([
      await opened.service.store.read.selectFrom('nonce').selectAll().execute(),
      await opened.service.store.read.selectFrom('operator').selectAll().execute(),
    ])
    expect(stored).not.toContain(ways.passkey?.challenge)
    expect(stored).not.toContain(browser.split('=')[1])
    if (!ways.passkey) throw new Error('No passkey is asked for.')
    expect(await status(enter({ browser, credential: authenticator.sign(ways.passkey, { origin }) }))).toBe(200)
  })
})

describe('attacks on passkeys', () => {
  let authenticator: SoftwareAuthenticator
  let session: SignedIn
  beforeEach(async () => {
    session = await byLink()
    ;({ authenticator } = await register(session))
  })

  test('O14: a replayed assertion is refused', async () => {
    const sent = await assertion(authenticator)
    expect(await status(enter(sent))).toBe(200)
    expect(await status(enter(sent))).toBe(401)
  })

  test('O14: an assertion for another browser, or an expired one, is refused', async () => {
    const sent = await assertion(authenticator)
    const { browser } = await waysIn()
    expect(await status(enter({ ...sent, browser }))).toBe(401)
    expect(await status(enter({ ...sent, browser: '' }))).toBe(401)
    const late = await assertion(authenticator)
    opened.service.clock.pass(5 * minuteMs + 1)
    expect(await status(enter(late))).toBe(401)
  })

  test.each([
    ['another origin', { origin: 'http://localhost:9999' }],
    ['another host', { rpId: 'evil.example' }],
    ['no check of the user', { isVerified: false }],
    ['a count that does not grow', { counter: 0 }],
  ])('O15: an assertion with %s is refused', async (_what, terms) => {
    expect(await status(enter(await assertion(authenticator)))).toBe(200)
    expect(await status(enter(await assertion(authenticator, terms)))).toBe(401)
  })

  test('O15: another key that names the same passkey is refused', async () => {
    const { ways, browser } = await waysIn()
    if (!ways.passkey) throw new Error('No passkey is asked for.')
    const credential = new SoftwareAuthenticator().sign(ways.passkey, { origin })
    const id = authenticator.id.toString('base64url')
    expect(await status(enter({ browser, credential: { ...credential, id, rawId: id } }))).toBe(401)
  })

  test.each([
    ['another origin', { origin: 'http://localhost:9999' }],
    ['another host', { rpId: 'evil.example' }],
    ['no check of the user', { isVerified: false }],
    ['certificates of its maker', { format: 'packed' }],
  ])('O15: a passkey with %s is not added', async (_what, terms) => {
    expect((await register(session, terms)).answer.status).toBe(409)
  })

  test('O15: a challenge for a sign-in or a confirmation cannot add a passkey, and one for adding cannot sign in', async () => {
    const other = new SoftwareAuthenticator()
    const creation = await json<PasskeyCreation>(ask('/api/your-sign-in/passkey-request', session))
    const { ways, browser } = await waysIn()
    const challenge = ways.passkey?.challenge ?? ''
    const credential = other.register({ ...creation, challenge }, { origin })
    expect(await status(ask('/api/your-sign-in/add-passkey', session, { credential, label: 'x' }))).toBe(409)
    const request = { rpId: 'localhost', userVerification: 'required' as const, allowCredentials: [] }
    const crossed = authenticator.sign({ ...request, challenge: creation.challenge }, { origin })
    expect(await status(enter({ browser, credential: crossed }))).toBe(401)
  })

  test.each([[null], ['x'], [{}], [{ id: 'x', rawId: 'x', type: 'public-key', response: {} }], [[]]])(
    'O15: %j is no assertion',
    async credential => {
      const { browser } = await waysIn()
      expect(await status(enter({ browser, credential: credential as object }))).toBe(401)
    },
  )

  test('O16: a guesser waits longer each time; another address does not', async () => {
    const { browser } = await waysIn()
    const guess = async () => enter({ browser, credential: {} })
    for (let each = 0; each < 5; each++) expect((await guess()).status).toBe(401)
    const first = await guess()
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '2'])
    opened.service.clock.pass(2_000)
    expect((await guess()).status).toBe(401)
    expect((await guess()).headers.get('retry-after')).toBe('4')
    const sent = await assertion(authenticator)
    expect((await enter(sent)).status).toBe(429)
    expect((await enter(sent, '::1')).status).toBe(200)
  })

  test('O16: of simultaneous guesses, one is checked', async () => {
    const { browser } = await waysIn()
    const guesses = await Promise.all(Array.from({ length: 10 }, () => status(enter({ browser, credential: {} }))))
    expect(guesses.filter(each => each === 401)).toHaveLength(1)
  })

  test('O17: an operator who is removed or reset is signed out everywhere, and the passkey is forgotten', async () => {
    await json(ask('/api/operator/operator.create', session, { operator: 'bob', role: 'owner' }))
    const again = await signedIn(await enter(await assertion(authenticator)))
    const bob = await byLink({ by: 'bob', named: true })
    expect(await status(ask('/api/operator/operator.reset', bob, { operator: 'ada' }))).toBe(200)
    for (const each of [session, again]) expect(await status(ask('/api/live', each))).toBe(401)
    expect(await status(enter(await assertion(authenticator)))).toBe(401)
    expect(await status(ask('/api/operator/operator.remove', bob, { operator: 'ada' }))).toBe(200)
    expect(await status(ask('/api/operator/operator.remove', bob, { operator: 'bob' }))).toBe(409)
    expect(await status(ask('/api/operator/operator.role', bob, { operator: 'bob', role: 'read' }))).toBe(409)
  })

  test('O17: a lower role holds at once, for sessions that are open', async () => {
    await json(ask('/api/operator/operator.create', session, { operator: 'bob', role: 'owner' }))
    const bob = await byLink({ by: 'bob', named: true })
    await json(ask('/api/operator/operator.role', session, { operator: 'bob', role: 'read' }))
    expect(await json(opened.ask('/api/me', { headers: headersOf(bob) }))).toMatchObject({ role: 'read' })
    expect(await status(ask('/api/operator/operators', bob))).toBe(403)
  })

  test('O17: a link with a lower role than its operator’s adds no passkey, nor does a link without a name', async () => {
    const less = await byLink({ by: 'ada', role: 'read' })
    expect(await status(ask('/api/your-sign-in/passkey-request', less))).toBe(409)
    const nobody = await byLink({ by: 'eve', role: 'support' })
    expect(await status(ask('/api/your-sign-in/passkey-request', nobody))).toBe(409)
  })

  test('O18: acts that cannot be taken back need a proof of the last five minutes, and small ones do not', async () => {
    const customer = await opened.service.key(5).then(async () => {
      const { rows } = await json<{ rows: { customer: string }[] }>(ask('/api/operator/customers', session))
      return rows[0]?.customer ?? ''
    })
    const credit = (usd: string) => ask('/api/operator/customer.credit', session, { customer, usd, reason: 'A test' })
    opened.service.clock.pass(5 * minuteMs + 1)
    // Of two at once, the second counts the first.
    const atOnce = await Promise.all([credit('60'), credit('60')].map(status))
    expect(atOnce.filter(each => each === 200)).toHaveLength(1)
    const needs = { needs: 'proof' }
    expect(await json(credit('50'))).toMatchObject(needs)
    expect(await json(ask('/api/operator/operator.create', session, { operator: 'bob', role: 'read' }))).toMatchObject(
      needs,
    )
    expect(await json(ask('/api/your-sign-in/passkey-request', session))).toMatchObject(needs)
    // O19
    expect(await json(ask('/api/settings/change', session))).toMatchObject(needs)
    const { passkey } = await json<ProofWays>(ask('/api/prove/ways', session))
    if (!passkey) throw new Error('There is no passkey.')
    const credential = authenticator.sign(passkey, { origin })
    const elsewhere = await byLink({ by: 'eve', role: 'owner' })
    expect(await status(ask('/api/prove', elsewhere, { credential }))).toBe(409)
    expect(await status(ask('/api/prove', session, { credential: (await assertion(authenticator)).credential }))).toBe(
      409,
    )
    expect(await status(ask('/api/prove', session, { credential }))).toBe(200)
    expect(await status(ask('/api/prove', session, { credential }))).toBe(409)
    expect(await status(credit('500'))).toBe(200)
    opened.service.clock.pass(5 * minuteMs + 1)
    expect(await json(credit('1'))).toMatchObject(needs)
  })

  test('O18: refunds of requests and jobs count together with credits', async () => {
    const { clock, store } = opened.service
    const atMs = clock.now()
    const charged = (request: string, usd: bigint): Op[] => {
      const amount = microUsd(usd * 1_000_000n)
      const line = { sku: 's', units: 1n, unitPricePicoUsd: usd * 1_000_000_000_000n, amount }
      return [
        {
          ...{ op: 'hold', hold: request, account: 'bob', amount, atMs },
          lease: { owner: 'o', untilMs: atMs + 60_000 },
        },
        { op: 'capture', hold: request, request, model: 'm', lines: [line], atMs },
      ]
    }
    const credited = { op: 'credit', account: 'bob', amount: microUsd(300_000_000n), atMs } as const
    const job = { account: 'bob', model: 'm', request: 'of-job', input: '{}' }
    const ops: Op[] = [
      { op: 'account', account: 'bob', kind: 'customer', atMs },
      { ...credited, source: 'system:grant', ref: 'grant:first' },
      ...[...charged('large', 101n), ...charged('small', 60n), ...charged('of-job', 60n)],
      { op: 'job', job: 'j', from: null, to: 'queued', fence: 0, set: job, atMs },
    ]
    expect(await store.commit([{ id: `${uuidV7(atMs)}/made`, ops }])).toMatchObject([{ ok: true }])
    const act = (name: string, order: object) => ask(`/api/operator/${name}`, session, { ...order, reason: 'A test' })
    const [needs, refund] = [{ needs: 'proof' }, (request: string) => act('customer.refund', { request })]
    clock.pass(5 * minuteMs + 1)
    expect(await json(refund('large'))).toMatchObject(needs)
    expect(await status(refund('small'))).toBe(200)
    expect(await json(act('job.refund', { job: 'j' }))).toMatchObject(needs)
    expect(await json(refund('of-job'))).toMatchObject(needs)
    expect(await json(act('customer.credit', { customer: 'bob', usd: '41' }))).toMatchObject(needs)
    // The action itself refuses what would give nothing.
    for (const request of ['small', 'none', '\0']) expect((await status(refund(request))) === 403).toBe(false)
    expect(await status(act('customer.credit', { customer: 'bob', usd: '39' }))).toBe(200)
  })

  test('O18: two processes count the credits of one operator together', async () => {
    await opened.service.key(5)
    const { rows } = await json<{ rows: { customer: string }[] }>(ask('/api/operator/customers', session))
    const customer = rows[0]?.customer
    const headers = { 'content-type': 'application/json', ...headersOf(session) }
    opened.service.clock.pass(5 * minuteMs + 1)
    const consoles = [opened.ask, opened.another(), opened.another()]
    const credits = (usd: string, id?: string) =>
      Promise.all(
        consoles.map(async console => {
          const body = JSON.stringify({ customer, usd, reason: 'A test', ...(id ? { id } : {}) })
          const answer = await console('/api/operator/customer.credit', { method: 'POST', body, headers })
          return { status: answer.status, body: (await answer.json()) as object }
        }),
      )
    const statuses = (answers: { status: number }[]) => answers.map(answer => answer.status).sort()
    // Each one that another overtook is judged again, by a history with the other one.
    expect(statuses(await credits('0.5'))).toEqual([200, 200, 200])
    expect(statuses(await credits('60'))).toEqual([200, 403, 403])
    expect(statuses(await credits('60'))).toEqual([403, 403, 403])
    const first = await credits('30', 'once')
    expect(statuses(first)).toEqual([200, 200, 200])
    // A repeat credits nothing, so it needs no proof.
    const again = await credits('30', 'once')
    expect(again).toEqual(
      again.map(() => ({ status: 200, body: expect.objectContaining({ id: 'once', isRepeated: true }) })),
    )
    expect(statuses(await credits('31', 'once'))).toEqual([409, 409, 409])
  })

  test.each(['/api/sign-in', '/api/sign-in/passkey', '/api/your-sign-in/add-passkey', '/api/prove', '/api/prove/ways'])(
    'O6: %s from another page is refused',
    async path => {
      const cross = { ...headersOf(session), 'sec-fetch-site': 'same-site' }
      expect(await status(opened.post(path, {}, cross))).toBe(403)
    },
  )

  test('O3: a cookie that was planted is not the one of a session that begins', async () => {
    const planted = `farebox_console=${'p'.repeat(43)}`
    const { browser, credential } = await assertion(authenticator)
    const entered = await opened.post(
      '/api/sign-in/passkey',
      { credential },
      { ...here, cookie: `${browser}; ${planted}` },
    )
    expect(entered.status).toBe(200)
    expect(cookieIn(entered)).not.toBe(planted)
  })
})

test('a session can be ended from another one, of the same operator or by an owner', async () => {
  const [ada, bob] = [await byLink(), await byLink({ by: 'bob', role: 'read' })]
  const sessionsOf = async (session: SignedIn) => (await json<YourSignIn>(ask('/api/your-sign-in', session))).sessions
  expect((await sessionsOf(bob)).map(({ by }) => by)).toEqual(['bob'])
  const seen = await sessionsOf(ada)
  expect(seen).toHaveLength(2)
  const other = seen.find(({ by }) => by === 'ada')?.session
  expect(await status(ask('/api/your-sign-in/end-session', bob, { session: other }))).toBe(409)
  const its = seen.find(({ by }) => by === 'bob')?.session
  expect(await status(ask('/api/your-sign-in/end-session', ada, { session: its }))).toBe(200)
  expect(await status(ask('/api/live', bob))).toBe(401)
})
