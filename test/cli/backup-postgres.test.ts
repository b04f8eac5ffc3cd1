import { existsSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { postgresEnvironment } from '#cli/backup/postgres-tools.ts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets, readFolderSecrets, type Secrets } from '#cli/data/folder-secrets.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { type OpenService, openService } from '#service/running/open-service.ts'
import { canarySecret } from '../canary/canaries.ts'
import { query } from '../postgres/cluster.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

const secret = canarySecret

withPostgres('the backup of a PostgreSQL database', cluster => {
  let root: string
  let file: string
  let databases = 0
  let source: string
  beforeEach(async () => {
    root = temporaryFolder('dump')
    file = join(root, 'books.dump')
    source = await newDatabase()
  })

  async function newDatabase(): Promise<string> {
    const name = `books_${++databases}`
    await cluster().asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
    return cluster().urlOf('farebox', name)
  }

  const environment = (url: string) => ({ ...process.env, DATABASE_URL: url, FAREBOX_SECRET: secret })
  const run = (url: string, ...args: string[]) => runCommand(args, environment(url))

  const withoutSecret = (url: string) => ({ ...process.env, DATABASE_URL: url })

  const serve = (url: string, secrets: Secrets = [secret]): Promise<OpenService> => {
    const video = new DemoVideo({ workFolder: join(root, 'engines') })
    const models = demoModels({ chat: new DemoChat({ pause: async () => undefined }), video })
    return openService({ publicUrl: 'http://127.0.0.1:8402', folder: root, database: url, secrets, models })
  }

  const chat = (service: OpenService, key: string) =>
    service.fetch(
      new Request('http://127.0.0.1:8402/api/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: 'demo-chat',
          messages: [{ role: 'user', content: 'Say a word.' }],
          max_tokens: 20,
        }),
      }),
    )

  const entriesOf = (url: string) =>
    query(url, 'SELECT seq, id, ref, amount, request FROM farebox.entry ORDER BY seq') as Promise<
      { id: string; request: string | null }[]
    >

  test('is drilled under load: what was acknowledged before is there, nothing is half, and a new start goes on', async () => {
    const service = await serve(source)
    const { key } = await service.createKey({ usd: '1000' })
    const acknowledged: string[] = []
    let stopped = false
    const one = async () => {
      while (!stopped) {
        const response = await chat(service, key)
        if (response.status !== 200) throw new Error(await response.text())
        acknowledged.push(response.headers.get('cf-ray') ?? '')
        await response.text()
        await sleep(50)
      }
    }
    const load = Promise.all([one(), one(), one()])
    load.catch(() => undefined)
    await expect.poll(() => acknowledged.length).toBeGreaterThan(10)
    const before = [...acknowledged]
    const made = await run(source, 'backup', file, '--with-secret')
    const after = acknowledged.length
    stopped = true
    await load
    expect(made).toMatchObject({ code: 0, stdout: `${file}\n` })
    expect(made.stderr).toContain('The ledger in the database adds up: ')
    expect(after).toBeGreaterThan(before.length)
    for (const one of [file, `${file}.secret`]) expect((await stat(one)).mode & 0o777).toBe(0o600)
    expect(made.stdout + made.stderr).not.toContain(secret)
    expect((await readFile(file)).includes(secret)).toBe(false)

    const target = await newDatabase()
    const folder = dataFolder(join(root, 'restored'))
    // The new machine knows no more than the two files.
    const restored = await runCommand(['restore', file, '--data', folder.root], withoutSecret(target))
    expect(restored.stderr).not.toContain('ecret')
    expect(await readFile(folder.secret, 'utf8')).toBe(`${secret}\n`)
    expect((await stat(folder.secret)).mode & 0o777).toBe(0o600)
    expect(restored).toMatchObject({ code: 0, stdout: 'The ledger was restored into the database.\n' })
    // The folder remembers where its ledger is.
    expect((await runCommand(['ledger', 'balance', '--data', folder.root])).stderr).toContain('is in PostgreSQL (')
    const kept = await entriesOf(target)
    const ids = new Set(kept.map(({ id }) => id))
    expect((await entriesOf(source)).filter(({ id }) => ids.has(id))).toEqual(kept)
    const charged = new Set(kept.map(({ request }) => request))
    expect(before.filter(request => !charged.has(request))).toEqual([])
    await service.close()

    const again = await serve(target, (await readFolderSecrets(folder)) ?? undefined)
    expect((await chat(again, key)).status).toBe(200)
    await again.close()
    const reader = await postgresAuditReader(target)
    expect(await audit(reader, { expiredHoldMs: 600_000 })).toMatchObject({ ok: true, findings: [] })
    await reader.close()
  }, 60_000)

  test('writes no secret of another ledger, and says what to do without one', async () => {
    await (await serve(source)).close()
    const other = dataFolder(join(root, 'other'))
    const nowhere = ['--data', other.root]
    expect(await runCommand(['backup', file, '--with-secret', ...nowhere], withoutSecret(source))).toEqual({
      ...{ code: 1, stdout: '' },
      stderr:
        'The service’s secret is missing. Set the same FAREBOX_SECRET as the service, give its folder with `--data`, or set FAREBOX_CONFIG to its farebox.yaml.\n',
    })
    await folderSecrets(other)
    const wrong = await runCommand(['backup', file, '--with-secret', ...nowhere], withoutSecret(source))
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/^This ledger belongs to the secret of the service in /),
    ])
    for (const one of [file, `${file}.secret`]) expect(existsSync(one)).toBe(false)

    expect((await run(source, 'backup', file)).stderr).toContain("The backup does not contain the service's secret. ")
    const target = await newDatabase()
    const restored = await runCommand(['restore', file, ...nowhere], withoutSecret(target))
    expect([restored.code, restored.stderr]).toEqual([
      0,
      expect.stringMatching(/^This ledger belongs to the secret of /),
    ])
    const bare = await runCommand(['restore', file, '--data', join(root, 'bare')], withoutSecret(await newDatabase()))
    expect([bare.code, bare.stderr]).toEqual([
      0,
      expect.stringMatching(/^The backup contains no secret: before the first start, put the former /),
    ])
  }, 60_000)

  test('leaves no secret behind where the dump fails', async () => {
    await (await serve(source)).close()
    const { code } = await runCommand(['backup', file, '--with-secret'], { ...environment(source), PATH: '/nowhere' })
    expect(code).toBe(1)
    for (const one of [file, `${file}.secret`]) expect(existsSync(one)).toBe(false)
  })

  test('restores the rule that entries cannot be changed', async () => {
    const service = await serve(source)
    await service.createKey({ usd: '1' })
    await service.close()
    await run(source, 'backup', file)
    const target = await newDatabase()
    await run(target, 'restore', file)
    await expect(query(target, 'UPDATE farebox.entry SET amount = 0')).rejects.toThrow('permission denied')
    const asOwner = cluster().urlOf('postgres', new URL(target).pathname.slice(1))
    await expect(query(asOwner, 'DELETE FROM farebox.entry')).rejects.toThrow('append-only')
  })

  test('goes into an empty database alone, and overwrites no file', async () => {
    await (await serve(source)).close()
    expect((await run(source, 'backup', file)).code).toBe(0)
    expect(await run(source, 'restore', file)).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: '`pg_restore` found that the database is not empty. Restore into an empty database.\n',
    })
    expect(await run(source, 'backup', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already exists'),
    })
    await writeFile(file, 'no dump')
    expect(await run(await newDatabase(), 'restore', file)).toMatchObject({
      ...{ code: 1, stderr: '`pg_restore` cannot read this file. Give a backup of this database.\n' },
    })
  })

  test.each([
    [
      'is not installed',
      (url: string) => ({ DATABASE_URL: url, PATH: '/nowhere' }),
      /^`pg_dump` is not installed\. Install/,
    ],
    [
      'cannot connect to the server',
      () => environment('postgres://farebox:canary@127.0.0.1:1/books'),
      /^`pg_dump` cannot connect to the server\./,
    ],
    ['finds no such database', (url: string) => environment(`${url}_not`), /^`pg_dump` found no such database\./],
  ])('leaves nothing where it %s, and tells no password', async (_what, env, sentence) => {
    const { code, stdout, stderr } = await runCommand(['backup', file], env(source))
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(sentence)])
    expect(stderr).not.toContain('canary')
    expect(existsSync(file)).toBe(false)
    expect(existsSync(`${file}.part`)).toBe(false)
  })

  test('says what to do where PostgreSQL’s programs know no certificate authority', async () => {
    const bin = join(root, 'bin')
    await mkdir(bin)
    const words = 'connection failed: root certificate file "/root/.postgresql/root.crt" does not exist'
    await writeFile(join(bin, 'pg_dump'), `#!/bin/sh\necho '${words}' >&2\nexit 1\n`, { mode: 0o700 })
    const env = { ...environment(source), PATH: `${bin}${delimiter}${process.env.PATH}` }
    const { code, stderr } = await runCommand(['backup', file], env)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^`pg_dump` does not trust the certificate of the server\. Add `sslrootcert=FILE`/),
    ])
  })

  test('hands no password to an argument list', async () => {
    const spy = join(root, 'bin')
    await mkdir(spy)
    await writeFile(
      join(spy, 'pg_dump'),
      `#!/bin/sh\necho "$@" > ${root}/arguments\necho "$PGPASSWORD" > ${root}/password\nexit 1\n`,
      { mode: 0o700 },
    )
    const url = source.replace('farebox@', 'farebox:canary@')
    await runCommand(['backup', file], { ...environment(url), PATH: `${spy}${delimiter}${process.env.PATH}` })
    expect(await readFile(join(root, 'arguments'), 'utf8')).not.toContain('canary')
    expect(await readFile(join(root, 'password'), 'utf8')).toBe('canary\n')
  })

  test('the commands for keys and the ledger follow DATABASE_URL', async () => {
    await (await serve(source)).close()
    // A service of this folder that is on other ledger is not asked.
    await mkdir(join(root, 'service'))
    const other = { url: 'http://127.0.0.1:1', token: 'x', pid: process.pid }
    await writeFile(join(root, 'service', 'admin.json'), JSON.stringify(other))
    const made = await run(source, 'keys', 'create', '--usd', '2', '--data', root)
    expect(made.code).toBe(0)
    const listed = await run(source, 'keys', 'list', '--data', root)
    expect(listed.stdout).toMatch(/^\S+ {2}fb_\S{6}… {2}customer:\S+ {2}created \S+ {2}active {2}""\n$/)
    expect((await run(source, 'keys', 'revoke', listed.stdout.split(' ')[0] ?? '', '--data', root)).code).toBe(0)
    const audited = await run(source, 'ledger', 'audit', '--data', root)
    expect([audited.code, audited.stdout]).toEqual([0, expect.stringContaining('The ledger adds up.')])
    expect(await run(source, 'keys', 'rotate-secret', '--data', root)).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^The secret comes from the environment\. Set a new secret in/) },
    })
  })
})

test.each([
  [
    'postgres://ada:p%40ss@db.example:5433/books?sslmode=require',
    {
      PGHOST: 'db.example',
      PGPORT: '5433',
      PGUSER: 'ada',
      PGPASSWORD: 'p@ss',
      PGDATABASE: 'books',
      PGSSLMODE: 'require',
    },
  ],
  ['postgres://ada@[::1]/books', { PGHOST: '::1', PGUSER: 'ada', PGDATABASE: 'books' }],
  ['postgresql:///books?host=/var/run/postgresql', { PGHOST: '/var/run/postgresql', PGDATABASE: 'books' }],
  ['postgres://db/books?user=ada&password=p', { PGHOST: 'db', PGUSER: 'ada', PGPASSWORD: 'p', PGDATABASE: 'books' }],
  ['postgres://ada:50%off@db/books', { PGHOST: 'db', PGUSER: 'ada', PGPASSWORD: '50%off', PGDATABASE: 'books' }],
  ['postgres://db/books?sslmode=no-verify', { PGHOST: 'db', PGDATABASE: 'books', PGSSLMODE: 'require' }],
])('an address as PostgreSQL’s programs take it: %s', (url, expected) => {
  expect(postgresEnvironment(url)).toEqual(expected)
})
