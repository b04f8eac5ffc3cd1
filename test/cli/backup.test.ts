import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { launcher } from '../build/built-product.ts'
import { farebox } from '../journeys/spawned-up.ts'
import { account, grant, hold, mustCommit } from '../ledger/store/sample-ops.ts'
import { tamperWith } from '../ledger/store/sqlite-folder.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000 })

let root: string
let source: string
let file: string
beforeEach(async () => {
  root = temporaryFolder('backup')
  source = join(root, 'source')
  file = join(root, 'books.db')
  await folderSecrets(dataFolder(source))
})

const backup = (...args: string[]) => runCommand(['backup', ...args, '--data', source])
const restore = (into: string, from = file) => runCommand(['restore', from, '--data', into])

/** Small ledger of a service that is stopped. */
async function writeLedger(): Promise<void> {
  const store = await openSqliteStore({ path: dataFolder(source).database })
  await mustCommit(store, account(), grant(1_000n), hold('open', 10n))
  await store.close()
}

function rowsOf(path: string, sql: string): unknown[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
  try {
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    return statement.all()
  } finally {
    database.close()
  }
}

/** A table of 30 MB, which takes several steps to copy. */
function fillLarge(path: string): void {
  const rows = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)'
  const fill = `INSERT INTO large ${rows} SELECT i, hex(zeroblob(500)) FROM n`
  tamperWith(path, `CREATE TABLE large (id INTEGER PRIMARY KEY, text TEXT); ${fill}`)
}

const entries = 'SELECT * FROM entry ORDER BY seq'

describe('a restore drill', () => {
  let service: OpenedService
  beforeEach(async () => {
    service = await openService({ folder: source })
  })

  /** Chats one after the other, until told to stop; every answer that arrived is noted with its request. */
  function load(key: string) {
    const acknowledged: string[] = []
    let stopped = false
    const one = async () => {
      while (!stopped) {
        const response = await service.post('/chat/completions', chat, key)
        if (response.status !== 200) throw new Error(await response.text())
        acknowledged.push(response.headers.get('cf-ray') ?? '')
        await response.text()
        await sleep(pauseMs)
      }
    }
    const running = Promise.all([one(), one(), one()])
    // Seen when it is stopped.
    running.catch(() => undefined)
    return {
      acknowledged,
      async stop() {
        stopped = true
        await running
      },
    }
  }

  const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Say a word.' }], max_tokens: 20 }
  /** Keeps the load below the limit of a minute. */
  const pauseMs = 50

  test('under load: what was acknowledged before is there, nothing is half, and a new start goes on with it', async () => {
    const key = await service.key(1_000)
    const chats = load(key)
    await expect.poll(() => chats.acknowledged.length).toBeGreaterThan(10)
    const before = [...chats.acknowledged]
    // A process of its own, as an operator's is.
    const made = await farebox('backup', file, '--with-secret', '--data', source)
    const after = chats.acknowledged.length
    await chats.stop()
    expect(made).toMatchObject({ code: 0, stdout: `${file}\n` })
    expect(made.stderr).toMatch(
      /^The service's secret is in .+ keep it in a different place than the backup\.\nThe ledger in the file adds up: /,
    )
    expect(after).toBeGreaterThan(before.length)

    const kept = rowsOf(file, entries)
    expect(rowsOf(service.database, entries).slice(0, kept.length)).toEqual(kept)
    const charged = new Set(
      rowsOf(file, "SELECT request FROM entry WHERE kind = 'CHARGE'").map(row => Object.values(row as object)[0]),
    )
    expect(before.filter(request => !charged.has(request))).toEqual([])

    const target = join(root, 'target')
    const restored = await farebox('restore', file, '--data', target)
    expect(restored).toMatchObject({ code: 0, stdout: `The ledger was restored into ${target}.\n` })
    await service.close()
    const again = await openService({ folder: target, clock: service.clock })
    try {
      expect(rowsOf(again.database, entries).slice(0, kept.length)).toEqual(kept)
      expect(await audit(again.database, { clock: again.clock })).toMatchObject({ ok: true, counts: { openHolds: 0 } })
      const limits = await again.request('/api/v1/api_keys/rate_limits', {
        headers: { authorization: `Bearer ${key}` },
      })
      const [balance] = rowsOf(again.database, 'SELECT posted FROM account') as [{ posted: bigint }]
      expect(await limits.json()).toMatchObject({ data: { balances: { USD: Number(balance.posted) / 1e6 } } })
      expect((await again.post('/chat/completions', chat, key)).status).toBe(200)
      expect(again.logged).toEqual([])
    } finally {
      await again.close()
    }
  }, 60_000)
})

describe('a backup', () => {
  beforeEach(writeLedger)

  test('is one file of its owner, without a log beside it, and the command says what is missing', async () => {
    const { code, stdout, stderr } = await backup(file)
    expect([code, stdout]).toEqual([0, `${file}\n`])
    expect(stderr).toBe(
      "The backup does not contain the service's secret. Without that secret, existing API keys stop working after a restore: keep a copy of it too, or add `--with-secret`.\nThe ledger in the file adds up: 1 row of 1 account.\n",
    )
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readdir(root)).sort()).toEqual(['books.db', 'source'])
    expect(rowsOf(file, 'PRAGMA journal_mode')).toEqual([{ journal_mode: 'delete' }])
  })

  test('has the secret beside it where that was asked for, for its owner alone, and in no output', async () => {
    const [secret] = await folderSecrets(dataFolder(source))
    const { stdout, stderr } = await backup(file, '--with-secret')
    expect(await readFile(`${file}.secret`, 'utf8')).toBe(`${secret}\n`)
    expect((await stat(`${file}.secret`)).mode & 0o777).toBe(0o600)
    expect(stdout + stderr).not.toContain(secret)
    expect((await readFile(file)).includes(secret)).toBe(false)
    const target = join(root, 'target')
    await restore(target)
    expect(await folderSecrets(dataFolder(target))).toEqual([secret])
    expect((await stat(dataFolder(target).secret)).mode & 0o777).toBe(0o600)
  })

  test.each([
    [
      'a file',
      async () => writeFile(file, 'precious'),
      ' already exists. Choose another file: a backup never overwrites one.',
    ],
    ['a secret', async () => writeFile(`${file}.secret`, 'precious'), '.secret already exists. Choose another file: '],
    ['an unfinished one', async () => writeFile(`${file}.part`, 'precious'), 'Remove it, unless a backup is running'],
  ])('overwrites nothing: %s', async (_what, make, sentence) => {
    await make()
    const { code, stdout, stderr } = await backup(file, '--with-secret')
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(sentence)])
    const left = (await readdir(root)).filter(name => name !== 'source')
    expect(await Promise.all(left.map(name => readFile(join(root, name), 'utf8')))).toEqual(['precious'])
  })

  test('of a large database ends although it is written to all the time, and is one moment of it', async () => {
    const { database } = dataFolder(source)
    fillLarge(database)
    const writer = new DatabaseSync(database, { timeout: 5_000 })
    const insert = writer.prepare("UPDATE large SET text = 'x' || substr(text, 2) WHERE id = ?")
    let written = 0
    const writing = setInterval(() => insert.run(++written), 1)
    const { code } = await backup(file)
    clearInterval(writing)
    writer.close()
    expect([code, written > 10]).toEqual([0, true])
    const [kept] = rowsOf(file, "SELECT count(*) AS n, max(id) AS last FROM large WHERE text LIKE 'x%'")
    const { n, last } = kept as { n: bigint; last: bigint | null }
    expect(n).toBe(last ?? 0n)
  })

  test('that is killed at any moment is complete under its name, or missing', async () => {
    fillLarge(dataFolder(source).database)
    for (const afterMs of [0, 10, 40]) {
      const child = spawn(process.execPath, [launcher, 'backup', file, '--data', source], { stdio: 'ignore' })
      const gone = once(child, 'exit')
      await vi.waitUntil(() => existsSync(`${file}.part`) || existsSync(file), { timeout: 50_000, interval: 1 })
      await sleep(afterMs)
      child.kill('SIGKILL')
      await gone
      if (existsSync(file)) expect(rowsOf(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
      else
        expect(await backup(file)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('There is an unfinished backup'),
        })
      for (const end of ['', '.part', '.part-journal']) await rm(file + end, { force: true })
    }
    expect((await backup(file)).code).toBe(0)
  }, 60_000)

  test('of a damaged database is refused', async () => {
    const { database } = dataFolder(source)
    const bytes = await readFile(database)
    bytes.fill(7, bytes.length - 8_000)
    await writeFile(database, bytes)
    const { code, stderr } = await backup(file)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The database .+ cannot be used: .+ Run `farebox ledger audit`/),
    ])
    expect(existsSync(file)).toBe(false)
  })

  test('of a ledger that does not add up is kept, and says so', async () => {
    tamperWith(dataFolder(source).database, 'UPDATE account SET posted = posted + 1')
    const { code, stdout, stderr } = await backup(file)
    expect([code, stdout]).toEqual([1, `${file}\n`])
    expect(stderr).toContain(
      'The ledger in the file does not add up (1 row of 1 account). Run `farebox ledger audit` for details.',
    )
    expect(existsSync(file)).toBe(true)
  })

  test('of another release is made before that is updated, and not audited', async () => {
    tamperWith(dataFolder(source).database, 'DROP TABLE claim_answer; DROP TABLE claim')
    const { code, stderr } = await backup(file)
    expect([code, stderr]).toEqual([0, expect.stringContaining('The ledger belongs to another release')])
  })

  test('goes into a folder that is there, and comes from one that is', async () => {
    const nowhere = await backup(join(root, 'no', 'books.db'))
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      expect.stringMatching(/^There is no folder .+\. Create it, or choose/),
    ])
    const nothing = await runCommand(['backup', file, '--data', join(root, 'none')])
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringMatching(/^There is no service in .+\. Start one/)])
    const unnamed = await runCommand(['backup'])
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringMatching(/^FILE is missing; /)])
  })
})

describe('a restore', () => {
  beforeEach(async () => {
    await writeLedger()
    await backup(file)
  })

  test('without the secret says what that means, and keeps the ledger private to its owner', async () => {
    const target = join(root, 'target')
    const { code, stderr } = await restore(target)
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^The backup contains no secret: before the first start, put the former service's secret into /,
      ),
    ])
    expect((await stat(dataFolder(target).database)).mode & 0o777).toBe(0o600)
    expect((await stat(join(target, 'service'))).mode & 0o777).toBe(0o700)
  })

  test.each([
    ['no database', 'this is text'],
    ['a database without a ledger', ''],
  ])('of %s advises another file from, because another folder changes nothing', async (_, text) => {
    const broken = join(root, 'broken.db')
    await writeFile(broken, text)
    const { code, stderr } = await restore(join(root, 'target'), broken)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/broken\.db .*another file from/)])
    expect(stderr).not.toContain('--data')
  })

  test('touches no folder that has a ledger or is in use', async () => {
    const { database } = dataFolder(source)
    const before = await readFile(database)
    const twice = await restore(source)
    expect([twice.code, twice.stderr]).toEqual([
      1,
      `${source} already has a ledger. Restore into another folder, with \`--data\`.\n`,
    ])
    expect(await readFile(database)).toEqual(before)
    const store = await openSqliteStore({ path: database })
    const busy = await restore(source)
    await store.close()
    expect([busy.code, busy.stderr]).toEqual([1, expect.stringMatching(/^Another farebox process is using the folder/)])
  })

  test.each(['-wal', '-shm', '-journal'])('refuses a folder with the %s of a former ledger', async end => {
    const target = join(root, 'target')
    const { database } = dataFolder(target)
    await mkdir(join(target, 'service'), { recursive: true })
    await writeFile(`${database}${end}`, 'what was written last')
    const { code, stdout, stderr } = await restore(target)
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      `${database}${end} of an earlier ledger would damage the restored one. Move these files away, or restore into another folder with \`--data\`.\n`,
    ])
    expect([existsSync(database), await readFile(`${database}${end}`, 'utf8')]).toEqual([
      false,
      'what was written last',
    ])
  })

  test('of the files of a service that was killed includes what is only in the log beside them', async () => {
    const { database } = dataFolder(source)
    const left = join(root, 'left.db')
    const store = await openSqliteStore({ path: database })
    await mustCommit(store, grant(2_000n))
    for (const end of ['', '-wal']) await copyFile(database + end, left + end)
    const whole = rowsOf(database, entries)
    await store.close()
    const target = join(root, 'target')
    expect((await restore(target, left)).code).toBe(0)
    expect(rowsOf(dataFolder(target).database, entries)).toEqual(whole)
    expect(whole).toHaveLength(2)
  })

  test('that was killed starts again', async () => {
    const target = join(root, 'target')
    await mkdir(join(target, 'service'), { recursive: true })
    await writeFile(`${dataFolder(target).database}.part`, 'half')
    expect((await restore(target)).code).toBe(0)
    expect(rowsOf(dataFolder(target).database, entries)).toEqual(rowsOf(file, entries))
  })

  test.each([
    ['nothing', async () => rm(file), /^There is no file .+\. Give the path/],
    [
      'text',
      async () => writeFile(file, 'no database'),
      /^The database .+ cannot be used: it is not an SQLite database/,
    ],
    ['other tables', async () => writeOther(), /^The database .+ cannot be used: it contains no farebox ledger\./],
    ['half a backup', async () => halve(), /^The database .+ cannot be used: /],
  ])('takes no %s', async (_what, make, sentence) => {
    await make()
    const target = join(root, 'target')
    const { code, stderr } = await restore(target)
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)])
    expect(existsSync(dataFolder(target).database)).toBe(false)
  })

  async function writeOther(): Promise<void> {
    await rm(file)
    tamperWith(file, 'CREATE TABLE other (id)')
  }

  async function halve(): Promise<void> {
    const bytes = await readFile(file)
    await chmod(file, 0o600)
    await writeFile(file, bytes.subarray(0, bytes.length / 2))
  }
})
