import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { microUsd } from '#contract/money.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { account, grant, hold, mustCommit } from '../ledger/store/sample-ops.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

let root: string
beforeEach(async () => {
  root = temporaryFolder('balance')
  await folderSecrets(dataFolder(root))
})

const dayMs = 24 * 60 * 60 * 1000

/** 2 USD of today's credit, of which the hold of 3 USD takes all. */
const staked = (): Op => ({
  ...(hold('of bob', 3_000_000n, 'bob') as Extract<Op, { op: 'hold' }>),
  staking: { dayMs: Date.now() - (Date.now() % dayMs), granted: microUsd(2_000_000n) },
})

async function fill(store: Store): Promise<void> {
  await mustCommit(
    store,
    account(),
    account('bob'),
    account('çınar'),
    grant(5_000_000n, 'a'),
    grant(7_250_000n, 'b', 'bob'),
  )
  await mustCommit(store, hold('of ada', 1_500_000n))
  await mustCommit(store, staked())
}

const lines = [
  'ada  3.500000 USD available  5.000000 posted  1.500000 held',
  "bob  6.250000 USD available  7.250000 posted  1.000000 held  0.000000 of 2.000000 of today's staking credit available",
  'çınar  0.000000 USD available  0.000000 posted  0.000000 held',
]

const bob = {
  account: 'bob',
  kind: 'customer',
  postedUsd: '7.250000',
  heldUsd: '1.000000',
  availableUsd: '6.250000',
  staking: { grantedUsd: '2.000000', spentUsd: '0.000000', heldUsd: '2.000000', availableUsd: '0.000000' },
}

async function expectBalances(env: NodeJS.ProcessEnv): Promise<void> {
  const run = (...args: string[]) => runCommand(['ledger', 'balance', ...args, '--data', root], env)
  expect(await run()).toEqual({ code: 0, stdout: `${lines.join('\n')}\n`, stderr: '' })
  expect(await run('bob')).toEqual({ code: 0, stdout: `${lines[1]}\n`, stderr: '' })
  expect(JSON.parse((await run('bob', '--json')).stdout)).toEqual(bob)
  expect((await run('--json')).stdout.trim().split('\n')).toHaveLength(3)
  const unknown = {
    ...{ code: 1, stdout: '' },
    stderr: 'There is no account `nobody`. `farebox ledger balance` lists all accounts.\n',
  }
  expect(await run('nobody')).toEqual(unknown)
  expect(await runCommand(['ledger', 'export', '--account', 'nobody', '--data', root], env)).toEqual(unknown)
}

test('balances are shown beside a service that runs, of one account or of all', async () => {
  const store = await openStore(dataFolder(root).database)
  await fill(store)
  await expectBalances({})
  await store.close()
})

withPostgres('on PostgreSQL', cluster => {
  test('the same balances are shown', async () => {
    const store = await openStore(cluster().url)
    await fill(store)
    await expectBalances({ DATABASE_URL: cluster().url })
    await store.close()
  })
})

test.each(['balance', 'audit', 'export'])('ledger %s of a folder whose ledger is elsewhere says so', async word => {
  const { code, stderr } = await runCommand(['ledger', word, '--data', root])
  expect([code, stderr]).toEqual([1, expect.stringContaining('set the same DATABASE_URL as the service')])
  expect(stderr).not.toContain('unforeseen')
})

test('a word too many is wrong usage', async () => {
  const { code, stderr } = await runCommand(['ledger', 'balance', 'ada', 'bob'])
  expect([code, stderr]).toEqual([2, expect.stringContaining('Unexpected argument `bob`')])
})
