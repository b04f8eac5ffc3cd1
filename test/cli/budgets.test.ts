import { beforeEach, describe, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'
import { served } from './served-folder.ts'

let root: string
beforeEach(async () => {
  root = temporaryFolder('budgets')
  await folderSecrets(dataFolder(root))
})

const keys = (...args: string[]) => runCommand(['keys', ...args, '--data', root])

describe.each([
  ['on the folder itself', async <Value>(use: () => Promise<Value>) => use()],
  ['through the running service', async <Value>(use: () => Promise<Value>) => served(root, use)],
])('%s', (_where, during) => {
  test('a key is made with limits, they are listed, changed and taken away', async () => {
    const limits = ['--budget-usd', '2.5', '--budget-staking', '1', '--period', 'month']
    const made = await during(() => keys('create', '--usd', '5', ...limits, '--json'))
    const { keyId } = JSON.parse(made.stdout) as { keyId: string }
    expect((await during(() => keys('list'))).stdout).toContain(
      'at most 2.50 USD and 1.00 USD of staking credit a month',
    )
    expect((await during(() => keys('budget', keyId, '--budget-usd', '0', '--period', 'epoch'))).code).toBe(0)
    const changed = JSON.parse((await during(() => keys('list', '--json'))).stdout)
    expect(changed).toMatchObject([{ budget: { period: 'epoch', usd: '0.000000', staking: null } }])
    expect((await during(() => keys('budget', keyId, '--none'))).stdout).toBe(`Key ${keyId} has no budget.\n`)
    expect(JSON.parse((await during(() => keys('list', '--json'))).stdout)).toMatchObject([{ budget: null }])
  })

  test('a key is made with its last day, which the list and the log show', async () => {
    const made = await during(() => keys('create', '--usd', '5', '--expires', '2999-01-31', '--json'))
    const { keyId } = JSON.parse(made.stdout) as { keyId: string }
    const listed = JSON.parse((await during(() => keys('list', '--json'))).stdout)
    expect(listed).toMatchObject([{ id: keyId, expiresAtMs: Date.UTC(2999, 0, 31), budget: null }])
    expect((await during(() => keys('list'))).stdout).toContain('active until 2999-01-31')
    const log = await during(() => runCommand(['customers', 'log', '--json', '--data', root]))
    expect(log.stdout).toContain('2999-01-31')
  })

  test('limits of an unknown key are refused in one sentence', async () => {
    const end = await during(() => keys('budget', 'nothing', '--none'))
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no key `nothing`.') })
  })
})

test.each([
  ['a limit without a period', ['create', '--usd', '1', '--budget-usd', '1'], '--period'],
  ['a period without a limit', ['create', '--usd', '1', '--period', 'month'], '--budget-usd'],
  [
    'an unknown period',
    ['create', '--usd', '1', '--budget-usd', '1', '--period', 'week'],
    '`--period` takes epoch (a UTC day), month or lifetime, not `week`',
  ],
  ['a negative limit', ['create', '--usd', '1', '--budget-usd', '-1', '--period', 'month'], '--budget-usd'],
  [
    'a limit that is not an amount',
    ['create', '--usd', '1', '--budget-usd', '1e3', '--period', 'month'],
    '--budget-usd',
  ],
  ['a last day that has passed', ['create', '--usd', '1', '--expires', '2026-01-01'], '`--expires`'],
  ['a last day that does not exist', ['create', '--usd', '1', '--expires', '2999-02-30'], '`--expires`'],
  ['neither limits nor none', ['budget', 'some-id'], '--none'],
  ['limits and none', ['budget', 'some-id', '--budget-usd', '1', '--period', 'month', '--none'], '--none'],
  ['no key', ['budget', '--none'], 'id of the key'],
])('%s is wrong usage', async (_what, args, says) => {
  const end = await keys(...args)
  expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(says)])
})
