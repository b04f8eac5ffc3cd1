/** Customers, usage and the log of operators' acts as an operator's commands show and change them. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { proofOfSecret } from '#host/signatures/signatures.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Op } from '#ledger/store/units.ts'
import { account, capture, dayMs, grant, hold, mustCommit, refund } from '../ledger/store/sample-ops.ts'
import { type LocalServer, localServer } from '../local-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { typedInto } from './at-terminal.ts'
import { runCommand } from './run-command.ts'
import { served } from './served-folder.ts'

// Each command opens the ledger anew, with a thread of its own.
vi.setConfig({ testTimeout: 60_000 })

let root: string
beforeEach(async () => {
  root = temporaryFolder('customers')
  await folderSecrets(dataFolder(root))
})

const farebox = (...args: string[]) => runCommand([...args, '--data', root])
const answerOf = async (...args: string[]) => {
  const { code, stdout, stderr } = await farebox(...args, '--json')
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('rror')])
  return JSON.parse(stdout) as { customer: string; rows: Record<string, unknown>[]; keys: object[]; balanceUsd: string }
}

describe.each([
  ['on the folder itself', async <Value>(use: () => Promise<Value>) => use()],
  ['through the running service', async <Value>(use: () => Promise<Value>) => served(root, use)],
])('%s', (_where, during) => {
  test('a customer is made, renamed, credited without a key, suspended, resumed and limited; the log has each act', async () => {
    await during(async () => {
      const { customer } = await answerOf('customers', 'create', 'Ada', '--email', 'ada@example.com')
      await answerOf('customers', 'rename', 'Ada', 'Ada & Co', '--note', 'pays late')
      const credited = await answerOf(
        'customers',
        'credit',
        'ada@example.com',
        '--usd',
        '2.5',
        '--reason',
        'invoice 17',
      )
      expect(credited).toMatchObject({ customer, balanceUsd: '2.500000' })
      await answerOf('customers', 'suspend', customer, '--reason', 'stolen card')
      const { stdout } = await farebox('customers', 'show', customer)
      expect(stdout).toMatch(/name: "Ada & Co"[\s\S]*state: suspended since .*: "stolen card"[\s\S]*balance: 2\.50 USD/)
      await answerOf('customers', 'resume', customer)
      await answerOf('customers', 'limit', customer, '--plan', 'partner')
      expect(await answerOf('customers', 'show', customer)).toMatchObject({
        customer: { state: 'active', plan: 'partner', note: 'pays late' },
        keys: [],
      })
      const { rows } = await answerOf('customers', 'log', customer)
      expect(rows.map(({ act }) => act)).toEqual([
        ...['customer.limit', 'customer.resume', 'customer.suspend', 'customer.credit', 'customer.change'],
        'customer.create',
      ])
      expect(rows.every(({ actor }) => typeof actor === 'string' && actor.endsWith('at a terminal'))).toBe(true)
    })
  })

  test('a key and what becomes of it are in the log, and the key itself is not', async () => {
    await during(async () => {
      const made = JSON.parse((await farebox('keys', 'create', '--usd', '1', '--label', 'laptop', '--json')).stdout)
      await farebox('keys', 'budget', made.keyId, '--period', 'month', '--budget-usd', '5')
      await farebox('keys', 'revoke', made.keyId)
      const { stdout } = await farebox('customers', 'log', '--json')
      expect(JSON.parse(stdout).rows).toMatchObject([
        { act: 'key.revoke', subject: made.keyId },
        { act: 'key.budget', subject: made.keyId, after: { budget: { period: 'month', usd: '5.000000' } } },
        { act: 'key.create', subject: made.keyId, customer: made.account, after: { label: 'laptop', usd: '1.000000' } },
      ])
      expect(stdout).not.toContain(made.key)
    })
  })

  test('a credit with one id is given once, and the second answer says so', async () => {
    await during(async () => {
      await answerOf('customers', 'create', 'Ada')
      const credit = ['customers', 'credit', 'Ada', '--usd', '2', '--reason', 'invoice 17', '--id', 'invoice-17']
      const first = (await farebox(...credit)).stdout
      expect(first).toMatch(/^Credited 2\.00 USD .*2\.00 USD \(id invoice-17\)/)
      const again = (await farebox(...credit)).stdout
      expect(again).toMatch(/already has this credit.*2\.00 USD/)
      expect(await answerOf(...credit)).toMatchObject({ isRepeated: true, balanceUsd: '2.000000', id: 'invoice-17' })
      const other = await farebox(...credit.with(4, '3'))
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('another credit')])
      const { rows } = await answerOf('customers', 'log')
      expect(rows.map(({ act }) => act)).toEqual(['customer.credit', 'customer.create'])
    })
  })

  test('a refusal says what to do, and changes nothing', async () => {
    await during(async () => {
      const refused = async (...args: string[]) => (await farebox('customers', ...args)).stderr
      expect(await refused('show', 'zork')).toMatch(/no customer .*customers list/)
      expect(await refused('refund', 'zork', '--reason', 'a test')).toMatch(/nothing to refund.*customers show/)
      expect(await refused('suspend', 'zork')).toContain('`--reason` is missing')
      expect(await refused('credit', 'zork', '--usd', '1')).toContain('`--reason` is missing')
      expect(await refused('limit', 'zork', '--plan', 'gold')).toContain('configured')
      expect((await answerOf('customers', 'log')).rows).toEqual([])
    })
  })
})

describe('where the service’s answer is lost', () => {
  let lossy: LocalServer
  beforeEach(async () => {
    lossy = await localServer((request, response) => {
      const challenge = /^\/admin\/v1\/proof\?challenge=(.+)$/.exec(request.url ?? '')?.[1]
      if (challenge === undefined) response.destroy()
      else
        response.end(
          JSON.stringify({ proof: proofOfSecret('t', challenge, { address: '127.0.0.1', port: lossy.port }) }),
        )
    })
    const { admin } = dataFolder(root)
    await mkdir(dirname(admin), { recursive: true })
    await writeFile(admin, JSON.stringify({ url: lossy.url, token: 't', pid: process.pid }))
  })
  afterEach(() => lossy.close())

  test('a credit names the id with which it may be repeated', async () => {
    const { code, stderr } = await farebox('customers', 'credit', 'Ada', '--usd', '2', '--reason', 'a test')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/unknown.*`--id [\w-]{36}`/)])
    const own = await farebox('customers', 'credit', 'Ada', '--usd', '2', '--reason', 'a test', '--id', 'mine')
    expect(own.stderr).toContain('`--id mine`')
  })

  test.each([
    [['customers', 'create', 'Ada']],
    [['customers', 'refund', 'r', '--reason', 'a test']],
    [['keys', 'create', '--usd', '5']],
    [['keys', 'revoke', 'k']],
  ])('%j says to look at the log before it is repeated', async args => {
    const { code, stderr } = await farebox(...args)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/unknown.*customers log/)])
  })

  test('a question may just be asked again', async () => {
    const { stderr } = await farebox('customers', 'list')
    expect(stderr).toMatch(/does not answer.*try again/)
  })
})

test('no text of a customer controls the terminal, in a table, a page or JSON', async () => {
  const name = `Ada\u009b2J\u202e\u200b`
  const refused = await farebox('customers', 'create', name)
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('control characters')])
  const { customer } = await answerOf('customers', 'create', 'Ada', '--note', name, '--reason', name)
  // As an earlier release took it.
  const database = new DatabaseSync(dataFolder(root).database)
  database.prepare('UPDATE customer SET name = ?').run(name)
  database.close()
  await farebox('keys', 'create', '--usd', '1', '--account', customer, '--label', name)
  for (const args of [
    ['customers', 'list'],
    ['customers', 'list', '--json'],
    ['customers', 'show', customer],
    ['customers', 'log'],
    ['customers', 'log', '--json'],
    ['keys', 'list'],
    ['keys', 'list', '--json'],
    ['usage', '--by', 'customer'],
    ['usage', '--by', 'customer', '--json'],
  ]) {
    const { stdout } = await farebox(...args)
    expect([args, stdout.includes('Ada')]).toEqual([args, true])
    expect([args, stdout.match(/[\u0080-\u009f\u202e\u200b]/)]).toEqual([args, null])
  }
})

test('a rotated and a dropped secret are in the log by their marks', async () => {
  await farebox('keys', 'create', '--usd', '0')
  const before = await readFile(dataFolder(root).secret, 'utf8')
  await farebox('keys', 'rotate-secret')
  await farebox('keys', 'drop-secrets', '--break-keys')
  const { stdout } = await farebox('customers', 'log', '--json')
  const [dropped, rotated] = (JSON.parse(stdout) as { rows: Record<string, never>[] }).rows
  expect(rotated).toMatchObject({ act: 'secret.rotate', subject: expect.stringMatching(/^[0-9a-f]{8}$/) })
  expect(dropped).toMatchObject({ act: 'secret.drop', before: { former: [expect.stringMatching(/^[0-9a-f]{8}$/)] } })
  for (const secret of before.split('\n').filter(Boolean)) expect(stdout).not.toContain(secret)
})

test('usage is printed for people, as CSV and as JSON, with the same figures', async () => {
  await answerOf('customers', 'create', 'Ada')
  await answerOf('customers', 'credit', 'Ada', '--usd', '2', '--reason', 'a test')
  const day = new Date().toISOString().slice(0, 10)
  const csv = await farebox('usage', '--by', 'customer,day', '--csv')
  expect(csv.stdout).toMatch(
    new RegExp(`^customer,name,day,requests,.*\r\ncustomer:.*,Ada,${day},0,.*,2\\.000000\r\n$`),
  )
  const { stdout } = await farebox('usage', '--by', 'customer,day', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ name: 'Ada', day, grantedUsd: '2.000000' })
  expect((await farebox('usage')).stdout).toContain(day)
  const { stdout: table } = await typedInto(['usage', '--data', root], [], {}, { isShown: true })
  expect(table).toMatch(/^Day, UTC +Requests +Charged .* Granted$/m)
  expect(table).not.toContain('chargedUsd')
  expect((await farebox('usage', '--by', 'week')).stderr).toContain('customer, model or day')
})

test('a sum below zero is a number in CSV, such as of a day on which only older calls were refunded', async () => {
  const nowMs = Date.now()
  const at = (atMs: number, op: Op): Op => ({ ...op, atMs }) as Op
  const before = [account(), grant(100n), hold('r', 40n), capture('r', [40n])].map(op => at(nowMs - 40 * dayMs, op))
  const store = await openStore(`sqlite:${dataFolder(root).database}`)
  await mustCommit(store, ...before, at(nowMs, refund('r')))
  await store.close()
  const { stdout } = await farebox('usage', '--by', 'model', '--csv')
  const [head = '', row = ''] = stdout.split('\r\n')
  expect(row.split(',')[head.split(',').indexOf('revenueUsd')]).toBe('-0.000040')
})

test('the folder is the one of the configuration, even of one that is not valid', async () => {
  await answerOf('customers', 'create', 'Ada')
  const config = join(root, 'farebox.yaml')
  await writeFile(config, 'data: .\nmodels: 7\n')
  const { stdout } = await runCommand(['customers', 'list', '--json'], { FAREBOX_CONFIG: config })
  expect(JSON.parse(stdout).rows).toMatchObject([{ name: 'Ada' }])
  await writeFile(config, 'data: [\n')
  const broken = await runCommand(['customers', 'list'], { FAREBOX_CONFIG: config })
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('serve --check')])
})

test('the secrets are those of the configuration, where it names them', async () => {
  const [config, secret] = [join(root, 'farebox.yaml'), 'a secret of a variable that has no usual name']
  await writeFile(config, `data: .\nsecrets: ['$\{SECRET_OF_OURS}']\n`)
  await rm(dataFolder(root).secret)
  const store = await openStore(`sqlite:${dataFolder(root).database}`)
  await store.close()
  const keys = (env: NodeJS.ProcessEnv, ...args: string[]) =>
    runCommand(['keys', ...args], { FAREBOX_CONFIG: config, ...env })
  const env = { SECRET_OF_OURS: secret }
  expect(await keys(env, 'create', '--usd', '1')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fb_/) })
  expect(JSON.parse((await keys(env, 'list', '--json')).stdout)).toMatchObject([{ needs: 'current' }])
  expect((await keys({ SECRET_OF_OURS: secret.toUpperCase() }, 'create', '--usd', '1')).stderr).toContain('(mark ')
  expect((await keys({}, 'create', '--usd', '1')).stderr).toMatch(/SECRET_OF_OURS is not set.* same value/)
  expect((await keys(env, 'rotate-secret')).stderr).toContain('Put a new one before the current one in `secrets`')
  expect(existsSync(dataFolder(root).secret)).toBe(false)
})

test.each([
  ['in the folder', 'farebox.yaml', 'data: .'],
  ['beside the folder', '../farebox.yaml', 'data: ./ours'],
  ['in FAREBOX_CONFIG', '../elsewhere.yaml', `data: $\{OURS}`],
])('`--data` uses the secrets of the configuration %s', async (_, name, data) => {
  const ours = join(root, 'ours')
  const [file, secret] = [join(ours, name), 'a secret of a variable that has no usual name']
  await mkdir(join(ours, 'service'), { recursive: true })
  const store = await openStore(`sqlite:${dataFolder(ours).database}`)
  await store.close()
  const text = `${data}\ndatabase: $\{NOT_SET}\nsecrets: ['$\{SECRET_OF_OURS}']\n`
  await writeFile(file, text)
  const env = { OURS: ours, FAREBOX_CONFIG: file.includes('elsewhere') ? file : '', SECRET_OF_OURS: secret }
  const keys = (given: NodeJS.ProcessEnv, ...args: string[]) => runCommand(['keys', ...args, '--data', ours], given)
  expect(await keys(env, 'create', '--usd', '1')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fb_/) })
  const unset = await keys({ ...env, SECRET_OF_OURS: undefined }, 'create', '--usd', '1')
  expect(unset.stderr).toMatch(/SECRET_OF_OURS is not set.* same value/)
  // One of another service is not used.
  await writeFile(file, text.replace(data, 'data: ./another'))
  const other = await keys(env, 'create', '--usd', '1')
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('set FAREBOX_CONFIG to that file')])
  expect(existsSync(dataFolder(ours).secret)).toBe(false)
})
