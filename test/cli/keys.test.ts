import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { askService, runningService } from '#cli/data/service-admin.ts'
import { openStore } from '#ledger/store/open-store.ts'
import { DownloadLinks } from '#service/jobs/finished-media.ts'
import type { OpenService } from '#service/running/open-service.ts'
import { canarySecret } from '../canary/canaries.ts'
import { account, key, mustCommit } from '../ledger/store/sample-ops.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'
import { served } from './served-folder.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000 })

let root: string
beforeEach(async () => {
  root = temporaryFolder('keys')
  await folderSecrets(dataFolder(root))
})

const keys = (...args: string[]) => runCommand(['keys', ...args, '--data', root])
const created = async (...args: string[]) =>
  JSON.parse((await keys('create', ...args, '--json')).stdout) as { key: string; keyId: string; account: string }
const listed = async (...args: string[]) =>
  JSON.parse((await keys('list', ...args, '--json')).stdout) as {
    id: string
    needs: string
    revokedAtMs: number | null
  }[]

const statusOf = async (service: OpenService, key: string) =>
  (
    await service.fetch(
      new Request('http://127.0.0.1:8402/api/v1/api_keys/rate_limits', { headers: { authorization: `Bearer ${key}` } }),
    )
  ).status

test('what a running service of another version does not accept is named by field', async () => {
  await served(root, async () => {
    const running = await runningService(dataFolder(root))
    if (!running) throw new Error('The service is not running.')
    await expect(askService(running, '/admin/v1/keys', { usd: '1', actor: 'me', colour: 'red' })).rejects.toThrow(
      /Invalid request parameters: .*colour/,
    )
  })
})

describe.each([
  ['on the folder itself', async <Value>(use: () => Promise<Value>) => use()],
  ['through the running service', async <Value>(use: () => Promise<Value>) => served(root, use)],
])('%s', (_where, during) => {
  test('keys are listed without their secret, and one that is revoked has ended', async () => {
    const first = await during(() => created('--usd', '2', '--label', 'laptop'))
    const second = await during(() => created('--account', first.account))
    expect(second.account).toBe(first.account)
    const { stdout, stderr } = await during(() => keys('list'))
    expect(stderr).toBe('')
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(`^${second.keyId}  fb_\\S{6}…  ${first.account}  created \\S+  active  ""$`),
      expect.stringMatching(`^${first.keyId}  fb_\\S{6}…  ${first.account}  created \\S+  active  "laptop"$`),
      '',
    ])
    for (const { key } of [first, second]) expect(stdout).not.toContain(key)

    expect((await during(() => keys('revoke', first.keyId))).stdout).toBe(`Key ${first.keyId} was revoked.\n`)
    expect(await during(() => listed())).toMatchObject([
      { id: second.keyId, revokedAtMs: null },
      { id: first.keyId, revokedAtMs: expect.any(Number) },
    ])
    await served(root, async service => {
      expect(await statusOf(service, first.key)).toBe(401)
      expect(await statusOf(service, second.key)).toBe(200)
    })
  })

  test('an unknown account is refused, and an account without keys has an empty list', async () => {
    const { code, stdout, stderr } = await during(() => keys('list', '--account', 'zork'))
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('There is no customer `zork`')])
    const { account } = await during(() => created('--usd', '1'))
    expect(await during(() => listed('--account', account))).toHaveLength(1)
  })

  test('--account takes a name, and refuses one that no customer has', async () => {
    await during(() => runCommand(['customers', 'create', 'Ada Ltd', '--data', root]))
    const { account, keyId } = await during(() => created('--account', 'ada ltd', '--label', 'laptop'))
    expect((await during(() => keys('list', '--account', 'Ada Ltd'))).stdout).toContain(`${keyId}  `)
    expect(account).toMatch(/^customer:/)
    const { code, stderr } = await during(() => keys('create', '--account', 'nobody'))
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^There is no customer `nobody`.*customers list/)])
  })

  test('an ADMIN key lists the keys of its customer over the API', async () => {
    const { key, keyId } = await during(() => created('--usd', '0', '--admin'))
    expect((await during(() => keys('list'))).stdout).toMatch(/ {2}ADMIN {2}active {2}""\n$/)
    await served(root, async service => {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await service.fetch(new Request('http://127.0.0.1:8402/api/v1/api_keys', { headers }))
      expect([answer.status, await answer.json()]).toMatchObject([200, { data: [{ id: keyId, apiKeyType: 'ADMIN' }] }])
    })
  })

  test.each([
    [['revoke', 'nothing'], 'There is no key `nothing`.'],
    [['create', '--account', 'customer:nobody'], 'There is no account `customer:nobody`.'],
    [['create', '--account', 'customer:nobody', '--usd', '1'], 'There is no account `customer:nobody`.'],
  ])('%j is refused in one sentence', async (args, sentence) => {
    const end = await during(() => keys(...args))
    expect(end).toEqual({
      code: 1,
      stdout: '',
      stderr: `${sentence} \`farebox keys list\` shows the keys and their accounts.\n`,
    })
  })
})

test('the record of a service that was killed does not matter, even if its process number is in use', async () => {
  const record = { url: 'http://127.0.0.1:1', token: 'x', pid: process.pid }
  await writeFile(dataFolder(root).admin, JSON.stringify(record))
  expect(await keys('create', '--usd', '1')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('answer') })
})

test('a revoked key ends at once in the service that runs', async () => {
  await served(root, async service => {
    const { key, keyId } = await created('--usd', '1')
    expect(await statusOf(service, key)).toBe(200)
    await keys('revoke', keyId)
    expect(await statusOf(service, key)).toBe(401)
  })
})

describe('a new secret', () => {
  /** Over, so that the service says 410 where it knows the signature, and 404 where it does not. */
  const grant = { jobId: 'a-job', expiresAtMs: 1_700_000_000_000 }
  const link = async () => new DownloadLinks('http://127.0.0.1:8402', await folderSecrets(dataFolder(root))).url(grant)
  const statusOfLink = async (service: OpenService, url: string) => (await service.fetch(new Request(url))).status

  test('keeps keys and links of the former one until that is dropped, and ends them then', async () => {
    const former = await created('--usd', '1')
    const formerLink = await link()
    const { code, stdout } = await keys('rotate-secret')
    expect([code, stdout]).toEqual([
      0,
      'Created a new secret. The former one is still accepted until you run `farebox keys drop-secrets`.\n',
    ])
    const fresh = await created('--account', former.account)
    const freshLink = await link()
    expect(freshLink).not.toBe(formerLink)
    expect((await listed()).map(({ id, needs }) => [id, needs])).toEqual([
      [fresh.keyId, 'current'],
      [former.keyId, 'former'],
    ])
    expect((await keys('list')).stdout).toContain('active  needs a former secret')
    await served(root, async service => {
      for (const { key } of [former, fresh]) expect(await statusOf(service, key)).toBe(200)
      for (const url of [formerLink, freshLink]) expect(await statusOfLink(service, url)).toBe(410)
    })

    expect(await keys('drop-secrets')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        '1 key may still need a former secret. Replace and revoke them (`farebox keys list` shows which), or repeat this with `--break-keys`.\n',
    })
    await keys('revoke', former.keyId)
    expect((await keys('drop-secrets')).stdout).toBe('1 former secret dropped. Older download links stop working.\n')
    await served(root, async service => {
      expect(await statusOf(service, fresh.key)).toBe(200)
      expect([await statusOfLink(service, formerLink), await statusOfLink(service, freshLink)]).toEqual([404, 410])
    })
  })

  test('ends keys that still need the former one only where that was asked for', async () => {
    const former = await created('--usd', '1')
    await keys('rotate-secret')
    expect((await keys('drop-secrets', '--break-keys')).stdout).toMatch(/ 1 key stopped working\.\n$/)
    expect(await listed()).toMatchObject([{ needs: 'missing' }])
    await served(root, async service => expect(await statusOf(service, former.key)).toBe(401))
  })

  test('lies in the folder for its owner alone, and in no output', async () => {
    const outputs = [await keys('rotate-secret'), await keys('rotate-secret'), await keys('list')]
    const { secret } = dataFolder(root)
    expect((await stat(secret)).mode & 0o777).toBe(0o600)
    const words = (await readFile(secret, 'utf8')).trim().split('\n')
    expect(words).toHaveLength(3)
    for (const word of words) expect(JSON.stringify(outputs)).not.toContain(word)
  })

  test('is refused while a service runs with the former one', async () => {
    const before = await folderSecrets(dataFolder(root))
    await served(root, async () => {
      for (const word of ['rotate-secret', 'drop-secrets']) {
        const { code, stderr } = await keys(word)
        expect([code, stderr]).toEqual([1, expect.stringMatching(/^farebox already serves the folder .+ Stop it with/)])
      }
    })
    expect(await folderSecrets(dataFolder(root))).toEqual(before)
  })

  test('is not made when four former ones are still kept', async () => {
    for (let round = 0; round < 4; round++) expect((await keys('rotate-secret')).code).toBe(0)
    const { code, stderr } = await keys('rotate-secret')
    expect([code, stderr]).toEqual([
      1,
      'There are 4 former secrets already. Drop them first, with `farebox keys drop-secrets`.\n',
    ])
  })

  test('is not created without a service', async () => {
    await rm(dataFolder(root).secret)
    const { code, stderr } = await keys('rotate-secret')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^There is no service in .+\. Start one with/)])
  })
})

test.each([
  ['keys', 'create', '--usd', '1'],
  ['ledger', 'balance'],
])('before the first start, `%s %s` names `serve` where a configuration is there, else `up`', async (...words) => {
  await rm(dataFolder(root).secret)
  const config = join(root, 'farebox.yaml')
  const next = async () =>
    /`farebox (serve|up)`/.exec((await runCommand([...words, '--data', root], { FAREBOX_CONFIG: config })).stderr)?.[1]
  expect(await next()).toBe('up')
  await writeFile(config, 'listen: 127.0.0.1:0')
  expect(await next()).toBe('serve')
})

describe('a secret of the environment', () => {
  const [present, next] = [canarySecret, 'n'.repeat(32)]
  const withSecrets = (args: string[], env: NodeJS.ProcessEnv) => runCommand(['keys', ...args, '--data', root], env)

  test('wins over the one of the folder, and a former one counts on', async () => {
    await withSecrets(['create', '--usd', '1'], { FAREBOX_SECRET: present })
    const needs = async (env: NodeJS.ProcessEnv) =>
      JSON.parse((await withSecrets(['list', '--json'], env)).stdout)[0].needs
    expect(await needs({ FAREBOX_SECRET: present })).toBe('current')
    expect(await needs({ FAREBOX_SECRET: next, FAREBOX_FORMER_SECRET: present })).toBe('former')
    expect(await needs({ FAREBOX_SECRET: next })).toBe('missing')
    expect(await needs({})).toBe('missing')
  })

  test.each([[{ FAREBOX_SECRET: 'short' }], [{ FAREBOX_SECRET: present, FAREBOX_FORMER_SECRET: 'short' }]])(
    'is refused where it could be guessed, and not repeated: %j',
    async env => {
      const { code, stderr } = await withSecrets(['create', '--usd', '1'], env)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/ is too short\. Set it to the same value as the service: at least 32 /),
      ])
      expect(stderr).not.toContain('short\n')
    },
  )

  test('is rotated where it is set', async () => {
    const { code, stderr } = await withSecrets(['rotate-secret'], { FAREBOX_SECRET: present })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The secret comes from the environment\. Set a new secret /),
    ])
  })
})

test('a list that does not have every key says so', async () => {
  const add = async (from: number, to: number) => {
    const store = await openStore(`sqlite:${dataFolder(root).database}`)
    await mustCommit(store, account())
    for (let number = from; number < to; number++) await mustCommit(store, key(`key ${number}`))
    await store.close()
  }
  const told = async () => (await keys('list')).stderr
  await add(0, 999)
  expect(await told()).toBe('')
  await add(999, 1_001)
  expect(await told()).toContain('Only the newest 1000 keys are listed.')
})

test.each([
  [[], 'Name a subcommand: `create`, `budget`, `list`, `revoke`, `rotate-secret`, `drop-secrets`. '],
  [['mend'], 'Unknown subcommand `mend`. The subcommands are `create`, '],
  [['revoke'], 'The id of the key is missing; '],
  [['create'], '`--usd` is missing: '],
])('keys %j is wrong usage', async (args, sentence) => {
  const { code, stderr } = await runCommand(['keys', ...args])
  expect([code, stderr.startsWith(sentence)]).toEqual([2, true])
})
