/** A secret that does not belong to the ledger is refused before a key is created with it, on both stores. */
import { copyFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { dataFolder, readFileIfThere } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { type OpenService, openService } from '#service/running/open-service.ts'
import { query } from '../postgres/cluster.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let root: string
let ledger: { env: NodeJS.ProcessEnv; database?: string; forget(): Promise<unknown> }
const folderOf = (name: string) => join(root, name)
const keys = (name: string, ...args: string[]) => runCommand(['keys', ...args, '--data', folderOf(name)], ledger.env)

async function started(name: string, secrets?: readonly [string, ...string[]]): Promise<OpenService> {
  return openService({
    publicUrl: 'http://127.0.0.1:8402',
    folder: join(folderOf(name), 'service'),
    secrets: secrets ?? (await folderSecrets(dataFolder(folderOf(name)))),
    models: [],
    ...(ledger.database ? { database: ledger.database } : {}),
  })
}

const startAndStop = async (name: string, secrets?: readonly [string, ...string[]]) =>
  (await started(name, secrets)).close()

const create = (name: string) => keys(name, 'create', '--usd', '1', '--json')
const keyFrom = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as { key: string; keyId: string }

async function statusOf(name: string, key: string): Promise<number> {
  const service = await started(name)
  try {
    const request = new Request('http://127.0.0.1:8402/api/v1/api_keys/rate_limits', {
      headers: { authorization: `Bearer ${key}` },
    })
    return (await service.fetch(request)).status
  } finally {
    await service.close()
  }
}

const accounts = async (name: string) => (await keys(name, 'list')).stdout

/** Where the ledger says the secret is, and what to do. */
const belongsTo = (name: string) =>
  `This ledger belongs to the secret of the service in ${hostname()}:${folderOf(name)}/service (mark `
const nextStep = 'Use the former service’s secret: copy its file `secret`, '

/** `other` is a folder with another secret. */
function sameOnBoth(other: 'home' | 'elsewhere'): void {
  /** Another secret over the same ledger. */
  async function withAnotherSecret(): Promise<string> {
    const { secret } = dataFolder(folderOf(other))
    await rm(secret, { force: true })
    await folderSecrets(dataFolder(folderOf(other)))
    return secret
  }

  test('neither a key nor a start is had with another secret, and nothing is left of the attempt', async () => {
    await startAndStop('home')
    const kept = join(root, 'kept')
    await copyFile(dataFolder(folderOf('home')).secret, kept)
    const secret = await withAnotherSecret()
    for (const word of [['create', '--usd', '1'], ['rotate-secret'], ['drop-secrets']]) {
      if (word[0] === 'drop-secrets') await writeFile(secret, `${await readFileIfThere(secret)}another, former one\n`)
      const { code, stdout, stderr } = await keys(other, ...word)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain(belongsTo('home'))
      expect(stderr).toContain(nextStep)
    }
    expect(await accounts(other)).toBe('There are no keys.\n')
    await expect(startAndStop(other)).rejects.toThrow(belongsTo('home'))
    await copyFile(kept, secret)
    const { key } = keyFrom(await create(other))
    expect(await statusOf(other, key)).toBe(200)
  })

  test('a rotated secret takes over, and the former one alone does not', async () => {
    await startAndStop('home')
    const [first] = await folderSecrets(dataFolder(folderOf('home')))
    const { key } = keyFrom(await create('home'))
    expect((await keys('home', 'rotate-secret')).code).toBe(0)
    await expect(startAndStop('home', [first])).rejects.toThrow('is a different one (mark ')
    expect(await statusOf('home', key)).toBe(200)
    expect((await keys('home', 'drop-secrets', '--break-keys')).code).toBe(0)
    await startAndStop('home')
  })

  test('a secret that is rotated where it is set takes over with the next start', async () => {
    const [former, next] = ['f'.repeat(32), 'n'.repeat(32)]
    await startAndStop('home', [former])
    await expect(startAndStop('home', [next])).rejects.toThrow('belongs to the secret')
    await startAndStop('home', [next, former])
    await startAndStop('home', [next])
    await expect(startAndStop('home', [former])).rejects.toThrow('belongs to the secret')
  })

  test('a lost secret is replaced when that is asked for, and its keys end', async () => {
    await startAndStop('home')
    const lost = keyFrom(await create('home'))
    await withAnotherSecret()
    const { code, stdout } = await keys(other, 'rotate-secret', '--break-keys')
    expect([code, stdout]).toEqual([
      0,
      `The ledger now uses the secret in ${dataFolder(folderOf(other)).secret}. 1 key with another secret stopped working.\n`,
    ])
    expect((await keys(other, 'list')).stdout).toContain('active  needs a secret that is missing here')
    const fresh = keyFrom(await create(other))
    expect([await statusOf(other, lost.key), await statusOf(other, fresh.key)]).toEqual([401, 200])
  })

  test('a ledger of a release that wrote no mark takes that of the next start, unless its keys need another', async () => {
    await startAndStop('home')
    const { keyId } = keyFrom(await create('home'))
    await ledger.forget()
    await startAndStop('home')
    await ledger.forget()
    await withAnotherSecret()
    await expect(startAndStop(other)).rejects.toThrow('This ledger has API keys made with another secret (mark ')
    expect((await create(other)).stderr).toMatch(/^This ledger has API keys made with another secret/)
    expect((await keys(other, 'revoke', keyId)).code).toBe(0)
    await startAndStop(other)
  })
}

beforeEach(async () => {
  root = temporaryFolder('secret')
  await folderSecrets(dataFolder(folderOf('home')))
})

describe('ledger in the folder', () => {
  beforeEach(() => {
    const { database } = dataFolder(folderOf('home'))
    ledger = {
      env: {},
      forget: async () => {
        const opened = new DatabaseSync(database)
        opened.exec('DELETE FROM secret_mark')
        opened.close()
      },
    }
  })
  sameOnBoth('home')
})

withPostgres('books in PostgreSQL', cluster => {
  let databases = 0
  beforeEach(async () => {
    const name = `books_${++databases}`
    await cluster().asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
    const url = cluster().urlOf('farebox', name)
    ledger = {
      env: { ...process.env, DATABASE_URL: url },
      database: url,
      forget: () => query(url, 'DELETE FROM farebox.secret_mark'),
    }
    await folderSecrets(dataFolder(folderOf('elsewhere')))
  })
  sameOnBoth('elsewhere')

  test('services that start together with one secret are equal', async () => {
    const secrets = await folderSecrets(dataFolder(folderOf('home')))
    const services = await Promise.all(['home', 'elsewhere', 'third'].map(name => started(name, secrets)))
    const { key } = (await services[0]?.createKey({ usd: '1' })) ?? { key: '' }
    for (const service of services) await service.close()
    await rm(dataFolder(folderOf('elsewhere')).secret)
    await writeFile(dataFolder(folderOf('elsewhere')).secret, `${secrets[0]}\n`)
    expect(await statusOf('elsewhere', key)).toBe(200)
  })

  test('`farebox up` from another folder says so, and leaves no secret there', async () => {
    await startAndStop('home')
    const { code, stderr } = await runCommand(
      ['up', '--once', '--no-journey', '--port', '0', '--data', folderOf('new')],
      ledger.env,
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining(belongsTo('home'))])
    expect(await readFileIfThere(dataFolder(folderOf('new')).secret)).toBeNull()
  })
})
