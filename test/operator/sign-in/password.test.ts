/** A password with a one-time code, the third way into the console. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Marks } from '#access/identity/marks.ts'
import { dayMs, minuteMs } from '#contract/time.ts'
import { hashPassword, isPassword, totpCode } from '#operator/sign-in/password.ts'
import { freeFailuresOfAccount, Tries } from '#operator/sign-in/tries.ts'
import type { PasswordSetup, ProofWays, YourSignIn } from '#pages/console/wire.ts'
import { atProductCosts } from '../../cheap-passwords.ts'
import { fromItself, type OpenedConsole, openConsole, type SignedIn } from '../console/opened-console.ts'

let opened: OpenedConsole
beforeEach(async () => {
  opened = await openConsole()
})
afterEach(() => opened.close())

const password = 'a sentence that ada knows'
const ask = (path: string, session: SignedIn, body: object = {}) => opened.act(`/api/${path}`, body, session)
const step = () => Math.floor(opened.service.clock.now() / 30_000)
const codeNow = (secret: string, later = 0) => totpCode(secret, step() + later)
const setupOf = async (session: SignedIn) =>
  (await (await ask('your-sign-in/password-request', session)).json()) as PasswordSetup

/** Sets a password, and moves on to the next code. */
async function setPassword(session: SignedIn, of = password): Promise<string> {
  const { secret, setup } = await setupOf(session)
  const order = { setup, password: of, code: codeNow(secret) }
  expect((await ask('your-sign-in/set-password', session, order)).status).toBe(200)
  opened.service.clock.pass(30_000)
  return secret
}

const enter = (code: string, more: { operator?: string; password?: string } = {}, address?: string) =>
  opened.post('/api/sign-in/password', { operator: 'ada', password, code, ...more }, undefined, address)
const sessionOf = async (entered: Response): Promise<SignedIn> => ({
  cookie: (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  key: ((await entered.json()) as SignedIn).key,
})
const acts = () => opened.service.store.read.selectFrom('operator_act').selectAll().orderBy('seq').execute()

/** RFC 6238, appendix B, with six of its eight digits. */
test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('the code at second %i is that of the RFC', (seconds, code) => {
  expect(totpCode('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', Math.floor(seconds / 30))).toBe(code)
})

describe('a password with a code', () => {
  test('signs its operator in, proves a session, and is removed; the log has a row of each change', async () => {
    const link = await opened.signIn()
    const setup = await setupOf(link)
    expect(setup.uri).toBe(`otpauth://totp/farebox%20console:ada?secret=${setup.secret}&issuer=farebox%20console`)
    expect(setup.secret).toMatch(/^[A-Z2-7]{32}$/)
    const secret = await setPassword(link)
    const session = await sessionOf(await enter(codeNow(secret)))
    const seen = (await (await ask('your-sign-in', session)).json()) as YourSignIn
    expect(seen.passwordSinceMs).toBeGreaterThan(0)
    expect(seen.sessions.map(({ how }) => how).sort()).toEqual(['link', 'password'])
    opened.service.clock.pass(6 * minuteMs)
    const owners = () => ask('operator/operator.create', session, { operator: 'bob', role: 'read' })
    expect((await owners()).status).toBe(403)
    const ways = (await (await ask('prove/ways', session)).json()) as ProofWays
    expect(ways).toEqual({ passkey: null, password: true })
    const code = codeNow(secret)
    expect((await ask('prove', session, { password: 'another sentence', code })).status).toBe(409)
    expect((await ask('prove', session, { password, code })).status).toBe(200)
    expect((await ask('prove', session, { password, code })).status).toBe(409)
    expect((await owners()).status).toBe(200)
    expect((await ask('your-sign-in/remove-password', session)).status).toBe(200)
    opened.service.clock.pass(30_000)
    expect((await enter(codeNow(secret))).status).toBe(401)
    expect((await acts()).map(({ act }) => act)).toEqual(['operator.create', 'operator.create', 'operator.proof'])
  })

  test('of an operator who was reset or removed is refused', async () => {
    const owner = await opened.signIn()
    const secret = await setPassword(owner)
    await ask('operator/operator.create', owner, { operator: 'bob', role: 'owner' })
    expect((await ask('operator/operator.reset', owner, { operator: 'ada' })).status).toBe(200)
    expect((await enter(codeNow(secret))).status).toBe(401)
  })

  test.each([
    ['short', 'eleven char', 400],
    ['longer than a page allows', 'x'.repeat(257), 400],
    ['long enough', 'x'.repeat(256), 200],
    ['in another script', 'ещё одна длинная фраза 🎟️', 200],
  ])('that is %s: its length decides', async (_, of, status) => {
    const session = await opened.signIn()
    const { secret, setup } = await setupOf(session)
    const set = await ask('your-sign-in/set-password', session, { setup, password: of, code: codeNow(secret) })
    expect(set.status).toBe(status)
    opened.service.clock.pass(30_000)
    expect((await enter(codeNow(secret), { password: of })).status).toBe(status === 200 ? 200 : 401)
  })
})

describe('attacks on passwords', () => {
  test('O22: a code works once, also for many at the same moment, and none of the past does', async () => {
    const secret = await setPassword(await opened.signIn())
    const code = codeNow(secret)
    const entered = await Promise.all([1, 2, 3].map(at => enter(code, {}, `192.0.2.${at}`)))
    expect(entered.filter(({ status }) => status === 200)).toHaveLength(1)
    opened.service.clock.pass(20 * minuteMs)
    for (const later of [-2, -3, 2]) expect((await enter(codeNow(secret, later))).status).toBe(401)
    opened.service.clock.pass(20 * minuteMs)
    expect((await enter(codeNow(secret, 1))).status).toBe(200)
    expect((await enter(codeNow(secret))).status).toBe(401)
  })

  test('O22: a wrong password, a wrong code and an unknown name get the same answer, and wait ever longer', async () => {
    const secret = await setPassword(await opened.signIn())
    const code = codeNow(secret)
    const answers: string[] = []
    for (const more of [{ password: 'a wrong sentence' }, { operator: 'nobody' }, { operator: '<b>' }])
      answers.push(await (await enter(code, more)).text())
    answers.push(await (await enter('000000', {})).text())
    expect(new Set(answers).size).toBe(1)
    const waiting: number[] = []
    for (let guess = 0; guess < 10; guess++) {
      const { status, headers } = await enter('000000', {}, '198.51.100.1')
      expect([401, 429]).toContain(status)
      if (status === 429) {
        waiting.push(Number(headers.get('retry-after')))
        opened.service.clock.pass(Number(headers.get('retry-after')) * 1_000)
      }
    }
    expect(waiting.length).toBeGreaterThan(2)
    expect(waiting.at(-1)).toBeGreaterThan(waiting[0] ?? 0)
    opened.service.clock.pass(16 * minuteMs)
    expect((await enter(codeNow(secret))).status).toBe(200)
  })

  /** Counts tries as the console does, without the time that each hash takes. */
  const tries = () => {
    const { store, clock } = opened.service
    return new Tries({ clock, marks: new Marks({ store, clock }) })
  }

  /** The cookie of a browser that signs in with the code of now. */
  async function deviceOf(secret: string): Promise<string> {
    const entered = await enter(codeNow(secret), {}, '192.0.2.1')
    opened.service.clock.pass(30_000)
    const cookie = entered.headers.getSetCookie().find(each => each.startsWith('farebox_device='))
    return cookie?.split(';')[0] ?? ''
  }
  const enterFrom = (address: string, code: string, cookie = '', operator = 'ada') =>
    opened.post('/api/sign-in/password', { operator, password, code }, { ...fromItself, cookie }, address)

  test('O23: guesses from one address delay the operator neither elsewhere nor in a known browser there', async () => {
    const secret = await setPassword(await opened.signIn())
    const device = await deviceOf(secret)
    const guesses = []
    for (let guess = 0; guess < 10; guess++) guesses.push((await enterFrom('198.51.100.1', '000000')).status)
    expect(guesses.slice(-4)).toEqual([429, 429, 429, 429])
    const code = codeNow(secret)
    expect((await enterFrom('198.51.100.1', code)).status).toBe(429)
    expect((await enterFrom('198.51.100.1', code, device)).status).toBe(200)
    opened.service.clock.pass(30_000)
    expect((await enterFrom('203.0.113.1', codeNow(secret))).status).toBe(200)
  })

  test('O23: guesses from many addresses are limited in total, even if attempts succeed in between, and delay no known browser', async () => {
    const secret = await setPassword(await opened.signIn())
    const device = await deviceOf(secret)
    const { clock } = opened.service
    for (let guess = 0; guess <= freeFailuresOfAccount; guess++)
      expect(typeof (await tries().begin({ of: 'password ada', isTotal: true }))).toBe('object')
    expect((await enterFrom('203.0.113.1', codeNow(secret))).status).toBe(429)
    expect((await enterFrom('203.0.113.1', codeNow(secret), device)).status).toBe(200)
    clock.pass(30_000)
    expect((await enterFrom('203.0.113.1', codeNow(secret))).status).toBe(200)
    // The one after the success is failure 202 of the day, and waits as long as if there had been none.
    expect((await enterFrom('203.0.113.2', '000000')).status).toBe(401)
    const waits = await enterFrom('203.0.113.3', '000000')
    expect([waits.status, waits.headers.get('retry-after')]).toEqual([429, '4'])
  })

  test('O23: a known browser is limited too, and its cookie is of no use to another operator, changed, or after its time', async () => {
    const secret = await setPassword(await opened.signIn())
    const device = await deviceOf(secret)
    for (let guess = 0; guess < 5; guess++) await enterFrom('203.0.113.1', '000000', device)
    expect((await enterFrom('203.0.113.1', codeNow(secret), device)).status).toBe(429)
    const { clock } = opened.service
    clock.pass(20 * minuteMs)
    const fresh = await deviceOf(secret)
    const guessFrom = async (address: string) => {
      for (let guess = 0; guess < 5; guess++) await tries().begin({ of: `address ${address}` })
    }
    await guessFrom('198.51.100.1')
    const [id = '', until, ...rest] = fresh.split('.')
    for (const forged of [fresh.slice(0, -2), [id, `${until}0`, ...rest].join('.'), 'farebox_device=a.b.c.d'])
      expect((await enterFrom('198.51.100.1', codeNow(secret), forged)).status).toBe(429)
    expect((await enterFrom('198.51.100.1', codeNow(secret), fresh, 'bob')).status).toBe(429)
    expect((await enterFrom('198.51.100.1', codeNow(secret), fresh)).status).toBe(200)
    clock.pass(91 * dayMs)
    await guessFrom('198.51.100.2')
    expect((await enterFrom('198.51.100.2', codeNow(secret), fresh)).status).toBe(429)
  })

  test('O22: neither the password nor the secret is in the ledger, the log or an answer after the first', async () => {
    const session = await opened.signIn()
    const secret = await setPassword(session)
    await enter(codeNow(secret))
    const { read } = opened.service.store
    const stored = JSON.stringify([
      await read.selectFrom('operator').selectAll().execute(),
      await read.selectFrom('nonce').selectAll().execute(),
      await acts(),
      opened.service.logged,
      await (await ask('your-sign-in', session)).json(),
    ])
    for (const hidden of [secret, password]) expect(stored).not.toContain(hidden)
    expect(stored).toContain('scrypt.10.8.3.')
  })

  test('a hash of the product costs what OWASP recommends, and answers', async () => {
    const hash = await atProductCosts(() => hashPassword(password))
    expect(hash).toMatch(/^scrypt\.15\.8\.3\./)
    expect(await isPassword(password, hash)).toBe(true)
    expect(await isPassword(`${password} `, hash)).toBe(false)
  })

  test('O22: setting one needs a recent proof, the operator’s own session, a code, and a form of this session', async () => {
    const [ada, other] = [await opened.signIn(), await opened.signIn()]
    const { secret, setup } = await setupOf(ada)
    const order = { setup, password, code: codeNow(secret) }
    for (const wrong of [{ code: '000000' }, { setup: 'AAAA' }, { setup: `${setup.slice(0, -2)}AA` }])
      expect((await ask('your-sign-in/set-password', ada, { ...order, ...wrong })).status).toBe(409)
    expect((await ask('your-sign-in/set-password', other, order)).status).toBe(409)
    opened.service.clock.pass(6 * minuteMs)
    for (const path of ['password-request', 'set-password', 'remove-password'])
      expect((await ask(`your-sign-in/${path}`, ada, order)).status).toBe(403)
    expect(await acts()).toEqual([])
    const read = await opened.signIn('read')
    expect((await ask('your-sign-in/password-request', read)).status).toBe(409)
  })
})
