import { beforeEach, expect, test } from 'vitest'
import { dataFolder } from '#cli/data/data-folder.ts'
import { microUsd } from '#contract/money.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { startLocalEvmChain } from '#local/evm/chain.ts'
import { account, mustCommit, payment, topUp } from '../ledger/store/sample-ops.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

let root: string
beforeEach(() => {
  root = temporaryFolder('local-chain')
})

const audit = () => runCommand(['ledger', 'audit', '--chain', '--data', root])

test('without a node in the environment, the local chain of the folder is asked while it runs', async () => {
  const payTo = '0x00000000000000000000000000000000000000aa'
  const chain = await startLocalEvmChain({ dataDir: root })
  try {
    const option = { network: `eip155:${chain.chainId}`, asset: chain.tokenAddress, payTo }
    const store = await openSqliteStore({ path: dataFolder(root).database })
    const set = { network: option.network, amount: microUsd(5), payload: JSON.stringify({ option }) }
    await mustCommit(store, payment('p', null, 'claimed', 0, set), payment('p', 'claimed', 'rejected', 1))
    await store.close()
    await chain.mintUsdc(payTo, 5n)
    expect(await audit()).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringContaining(`eip155:8453 to ${payTo}: 0 credits, 0 of them on the chain; 1 transfer\nNote: `),
    })
  } finally {
    await chain.stop()
  }
  expect(await audit()).toMatchObject({ code: 1, stderr: expect.stringContaining('or start the local chain with') })
}, 60_000)

test('a restored trial without its local chain is reported, with the folder to copy', async () => {
  const network = 'eip155:8453'
  const option = { network, asset: `0x${'11'.repeat(20)}`, payTo: `0x${'22'.repeat(20)}` }
  const store = await openSqliteStore({ path: dataFolder(root).database })
  const set = { network, amount: microUsd(5), payload: JSON.stringify({ option }) }
  const credited = payment('p', 'claimed', 'credited', 1, { transaction: `0x${'33'.repeat(32)}` })
  await mustCommit(store, account(), payment('p', null, 'claimed', 0, set), topUp(5n, 'p'), credited)
  await store.close()
  expect(await audit()).toEqual({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringMatching(/eip155:8453.* no local chain\. .*FAREBOX_EVM_RPC_URL.* copy `chain` /),
  })
  const chain = await startLocalEvmChain({ dataDir: root })
  try {
    const { code, stdout, stderr } = await audit()
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The local chain of this folder has none of these payments \(eip155:8453\), so it is a new chain\. .*copy `chain` /,
      ),
    ])
    expect(stdout).toContain('1 credit, 0 of them on the chain; 0 transfers')
  } finally {
    await chain.stop()
  }
}, 60_000)
