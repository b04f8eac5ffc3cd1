import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPool } from '#wallet/records/postgres/connection.ts'

beforeEach(() => {
  vi.stubEnv('PGSSLMODE', '')
  vi.stubEnv('PGHOST', '')
})
afterEach(() => vi.unstubAllEnvs())

const openedAt = (url: string): Promise<string> =>
  openPool(url).then(
    pool => pool.end().then(() => 'opened'),
    error => `${error.rule}: ${error.message}`,
  )

const canary = 'swordfish'
const at = (rest: string) => `postgres://ada:${canary}@${rest}`

const inClear = [
  at('db.example/books'),
  at('10.0.0.7:5432/books'),
  at('[2001:db8::1]/books'),
  at('127.0.0.1/books?host=db.example'),
  at('127.0.0.1.example/books'),
  at('db.example/books?ssl=0'),
  at('db.example/books?application_name=sslmode=disable'),
  at('db.example/books?sslmode=disable&ssl=0&sslmode='),
]

test.each(inClear)('a journal on another machine is not spoken to in clear: %s', async url => {
  const said = await openedAt(url)
  expect(said).toMatch(/^state: .*another machine without TLS.*sslmode=verify-full/)
  expect(said).not.toContain(canary)
})

test.each([
  at('127.0.0.1/books'),
  at('localhost:5433/books'),
  at('[::1]/books'),
  'postgres:///books?host=/var/run/postgresql',
  at('db.example/books?sslmode=verify-full'),
  at('db.example/books?sslmode=no-verify'),
  at('db.example/books?ssl=true'),
  at('db.example/books?sslmode=disable'),
])('one on this machine, by TLS, or by its address’s own word is: %s', async url => {
  expect(await openedAt(url)).toBe('opened')
})

test('files of an address that are not there are told without it', async () => {
  const said = await openedAt(at('db.example/books?sslmode=verify-full&sslrootcert=/nowhere/ca.pem'))
  expect(said).toMatch(/^state: .*TLS settings in FAREBOX_JOURNAL_URL are invalid/)
  expect(said).not.toContain(canary)
})

test('an environment may ask for TLS, and cannot say that there is to be none', async () => {
  vi.stubEnv('PGSSLMODE', 'disable')
  expect(await openedAt(at('db.example/books'))).toContain('without TLS')
  vi.stubEnv('PGSSLMODE', 'require')
  expect(await openedAt(at('db.example/books'))).toBe('opened')
  vi.stubEnv('PGSSLMODE', '')
  vi.stubEnv('PGHOST', 'db.example')
  expect(await openedAt('postgres:///books')).toContain('without TLS')
})
