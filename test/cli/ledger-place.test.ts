/** A folder remembers which database its ledger is in, and a database is not used with another folder. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { noteLedgerPlace } from '#cli/data/ledger-place.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'
import { served } from './served-folder.ts'

let root: string
beforeEach(() => {
  root = temporaryFolder('place')
})

const url = 'postgres://ada:canary@127.0.0.1:1/books?sslmode=require'
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runCommand([...args, '--data', root], { PATH: process.env.PATH, ...env })
const up = ['up', '--once', '--no-journey', '--port', '0']

test.each([
  ['a start', up],
  ['a new key', ['keys', 'create', '--usd', '1']],
  ['an audit', ['ledger', 'audit']],
  ['a backup', ['backup', 'books.db']],
  ['a restore', ['restore', 'books.db']],
])('without DATABASE_URL, %s in a folder whose ledger is in PostgreSQL is refused', async (_what, args) => {
  await noteLedgerPlace(dataFolder(root), { engine: 'postgres', url })
  const { code, stderr } = await run(args)
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^The ledger of the service in .* is in PostgreSQL \(127\.0\.0\.1:1\/books\), and DATABASE_URL is not set\. Set the same DATABASE_URL /,
    ),
  ])
})

test.each([
  ['a list of keys', ['keys', 'list']],
  ['a new customer', ['customers', 'create', 'Ada']],
  ['an audit', ['ledger', 'audit']],
])('if the database does not answer, %s says so, and what to do', async (_what, args) => {
  const secret = { FAREBOX_SECRET: 'a secret of a test, 32 bytes long' }
  const { code, stderr } = await run(args, { DATABASE_URL: url, ...secret })
  expect([code, stderr]).toEqual([
    1,
    'PostgreSQL at 127.0.0.1:1 does not answer (ECONNREFUSED). Start it, or correct `database` or DATABASE_URL.\n',
  ])
})

test('what the folder remembers has no user and no password', async () => {
  const folder = dataFolder(root)
  await noteLedgerPlace(folder, { engine: 'postgres', url })
  expect(await readFile(join(root, 'service', 'ledger-in-postgresql'), 'utf8')).toBe('127.0.0.1:1/books\n')
  await noteLedgerPlace(folder, { engine: 'sqlite', path: folder.database })
})

test('a start on PostgreSQL is refused if the folder’s ledger has accounts', async () => {
  await served(root, async () => undefined)
  expect((await run(up, { DATABASE_URL: url })).stderr).not.toContain('are in its folder')
  await served(root, service => service.createKey({ usd: '1' }))
  const { code, stderr } = await run(up, { DATABASE_URL: url })
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^The ledger of the service in .* is in that folder, .* Unset DATABASE_URL to keep using it/),
  ])
  const config = join(root, 'farebox.yaml')
  const model = `id: one, type: text, contextTokens: 1000, price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }`
  await writeFile(
    config,
    `publicUrl: http://127.0.0.1:8402\nlisten: 127.0.0.1:0\ndata: ${root}\nmodels: [{ ${model}, upstreams: [{ engine: demo }] }]\n`,
  )
  const { stdout } = await runCommand(['doctor', '--config', config], { PATH: process.env.PATH, DATABASE_URL: url })
  expect(stdout).toMatch(/^!! ledger: The ledger of the service in .* Unset DATABASE_URL to keep using it/m)
}, 60_000)

test('a ledger restored without its secret says how to continue', async () => {
  const file = join(root, 'books.db')
  await served(root, service => service.createKey({ usd: '1' }))
  expect((await run(['backup', file])).code).toBe(0)
  const other = join(root, 'other')
  expect((await runCommand(['restore', file, '--data', other])).code).toBe(0)
  const { code, stderr } = await runCommand(['keys', 'list', '--data', other])
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^The secret of the ledger in .*other is missing\. Put the former service’s secret into .*secret/,
    ),
  ])
})

test.each([
  [
    'of PostgreSQL, without DATABASE_URL',
    'PGDMP…',
    {},
    /^This is a backup of a ledger in PostgreSQL\. Set DATABASE_URL/,
  ],
  [
    'of a folder, with DATABASE_URL',
    'SQLite format 3\0',
    { DATABASE_URL: url },
    /^This is a backup of a ledger in SQLite\. Unset DATABASE_URL/,
  ],
])('a backup %s', async (_what, content, env, sentence) => {
  const file = join(root, 'backup')
  await writeFile(file, content)
  const { code, stderr } = await run(['restore', file], env)
  expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)])
})

withPostgres('an empty database', cluster => {
  test('is reported as such, and not as one of another release', async () => {
    await cluster().asSuperuser('CREATE DATABASE nothing_yet OWNER farebox', 'postgres')
    const { code, stderr } = await run(['ledger', 'balance'], {
      DATABASE_URL: cluster().urlOf('farebox', 'nothing_yet'),
    })
    expect([code, stderr]).toEqual([
      1,
      'The PostgreSQL database has no service ledger. Start the service with this database once, or check DATABASE_URL.\n',
    ])
  })
})
