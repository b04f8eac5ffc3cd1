import { openConsole } from '../operator/console/opened-console.ts'
import { answered, byUser, misusedPage, type PageMistake } from './page-mistake.ts'

type Opened = Awaited<ReturnType<typeof open>>

async function open() {
  const console = await openConsole()
  const [owner, reader] = [await console.signIn(), await console.signIn('read')]
  return { console, owner, reader, names: [], close: console.close }
}

type Row = PageMistake<Opened>

/** Each from an address of its own, so that no row has to wait for the tries of another. */
const posted = (what: string, path: string, body: unknown, status: number, address = `127.0.0.${what.length}`): Row => [
  what,
  async ({ console }) => answered(await console.post(path, body, undefined, address)),
  status,
]

const visited = (what: string, path: string, status: number, init: RequestInit = {}): Row => [
  what,
  async ({ console }) => answered(await console.ask(path, { ...init, headers: { ...byUser, ...init.headers } })),
  status,
]

const typed = { operator: 'ada', password: 'a sentence that ada knows', code: '123456' }

const mistakes: readonly Row[] = [
  [
    'a link that was used',
    async ({ console }) => {
      const token = await console.newToken()
      await console.spend(token)
      return answered(await console.spend(token))
    },
    410,
  ],
  posted('a link of another service', '/api/session', { token: 'a'.repeat(43) }, 410),
  posted('a link that is not text', '/api/session', { token: ['x'] }, 410),
  posted('a wrong password', '/api/sign-in/password', typed, 401),
  posted('no name', '/api/sign-in/password', { ...typed, operator: '' }, 401),
  posted('a name with spaces', '/api/sign-in/password', { ...typed, operator: 'Ada Lovelace' }, 401),
  posted('a code of letters', '/api/sign-in/password', { ...typed, code: 'abcdef' }, 401),
  posted('a code in other digits', '/api/sign-in/password', { ...typed, code: '١٢٣٤٥٦' }, 401),
  posted('a password that is far too long', '/api/sign-in/password', { ...typed, password: 'x'.repeat(9_000) }, 401),
  posted('a whole file as a password', '/api/sign-in/password', { ...typed, password: 'x'.repeat(20_000) }, 413),
  posted('an empty form', '/api/sign-in/password', {}, 401),
  posted('an invalid passkey', '/api/sign-in/passkey', { credential: {} }, 401),
  [
    'too many wrong passwords',
    async ({ console }) => {
      const guess = () => console.post('/api/sign-in/password', { ...typed, operator: 'bob' }, undefined, '192.0.2.1')
      for (let sent = 0; sent < 5; sent++) await guess()
      return answered(await guess())
    },
    429,
  ],
  [
    'too many wrong links',
    async ({ console }) => {
      for (let sent = 0; sent < 20; sent++) await console.spend('guessed', undefined, '192.0.2.2')
      return answered(await console.spend('guessed', undefined, '192.0.2.2'))
    },
    429,
  ],
  ['no session', async ({ console }) => answered(await console.post('/api/your-sign-in', {})), 401],
  [
    'a browser that blocks cookies',
    async ({ console, owner }) => answered(await console.get('/api/me', { ...owner, cookie: '' })),
    401,
  ],
  [
    'signed out elsewhere',
    async ({ console }) => {
      const session = await console.signIn()
      await console.act('/api/sign-out', {}, session)
      return answered(await console.get('/api/me', session))
    },
    401,
  ],
  [
    'an act beyond the role',
    async ({ console, reader }) => answered(await console.act('/api/sign-out-all', {}, reader)),
    403,
  ],
  [
    'a password that is too short',
    async ({ console, owner }) =>
      answered(await console.act('/api/your-sign-in/set-password', { password: 'short' }, owner)),
    400,
  ],
  [
    'a form that has expired',
    async ({ console, owner }) => {
      const form = { ...typed, setup: 'earlier' }
      return answered(await console.act('/api/your-sign-in/set-password', form, owner))
    },
    409,
  ],
  [
    'a passkey at an address in numbers',
    async ({ console, owner }) => answered(await console.act('/api/your-sign-in/passkey-request', {}, owner)),
    409,
  ],
  ['an unknown form', async ({ console, owner }) => answered(await console.act('/api/raise', {}, owner)), 404],
  [
    'another site’s form',
    async ({ console, owner }) => {
      const headers = { ...console.headersOf(owner), 'sec-fetch-site': 'cross-site' }
      return answered(await console.post('/api/sign-out', {}, headers))
    },
    403,
  ],
  visited('the console by another name', '/', 403, { headers: { host: 'localhost:8405' } }),
  visited('an unknown file', '/app.js', 404),
  visited('a form that is sent to the page', '/', 405, { method: 'POST', body: 'a=b' }),
]

export const consolePage = misusedPage('the operators’ console', open, mistakes)
