import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { auditChain } from '#ledger/audit/audit-chain.ts'
import { sqliteAuditReader } from '#ledger/audit/audit-reader.ts'
import { evmTransfers, svmTransfers, type TransferSource } from '#ledger/audit/audit-transfers.ts'
import type { FindingKind } from '#ledger/audit/findings.ts'
import { backupSqlite } from '#ledger/store/sqlite/backup.ts'
import { runCommand } from '../../cli/run-command.ts'
import { tamperWith } from '../../ledger/store/sqlite-folder.ts'
import { localServer } from '../../local-server.ts'
import { startSvmChain } from '../../payments/svm-chain.ts'
import { openSvmWorld, payingFetch as payOnSvm, svmPayer } from '../../payments/svm-world.ts'
import { newAccount, startTestChain } from '../../payments/test-chain.ts'
import { openWorld, payingFetch as payOnEvm, topUpUrl } from '../../payments/top-up-world.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

/** A ledger of one rail with three payments, and a chain that has these and an unknown transfer. */
interface PaidRail {
  database: string
  url: string
  source: TransferSource
  variable: string
  dispose(): Promise<void>
}

async function paidOnEvm(): Promise<PaidRail> {
  const chain = await startTestChain()
  const world = await openWorld(chain)
  for (let payment = 0; payment < 3; payment++) {
    const account = newAccount()
    await chain.mint(account.address, 5_000_000n)
    expect((await payOnEvm(world.topUps, account)(topUpUrl, { method: 'POST' })).status).toBe(200)
  }
  await chain.mint(world.option.payTo, 77n)
  const dispose = async () => {
    await world.dispose()
    await chain.stop()
  }
  const { path: database } = world.opened
  return { database, url: chain.url, source: evmTransfers(chain.url), variable: 'FAREBOX_EVM_RPC_URL', dispose }
}

async function paidOnSolana(): Promise<PaidRail> {
  const chain = await startSvmChain()
  const world = await openSvmWorld(chain)
  for (let payment = 0; payment < 3; payment++)
    expect((await payOnSvm(world, await svmPayer(world))(topUpUrl, { method: 'POST' })).status).toBe(200)
  await chain.mint(world.payee.address, 77n)
  const dispose = async () => {
    await world.dispose()
    await chain.stop()
  }
  const { database } = world.opened
  return { database, url: chain.url, source: svmTransfers(chain.url), variable: 'FAREBOX_SOLANA_RPC_URL', dispose }
}

const unlocked = 'DROP TRIGGER entry_is_never_updated; DROP TRIGGER entry_is_never_deleted; '
const first = `(SELECT min(id) FROM payment)`

/** What is done to the ledger, the findings and notes that it makes, and how many credits still have their transfer. */
const damages: [rule: string, sql: string, findings: FindingKind[], notes: FindingKind[], matched: number][] = [
  ['nothing', '', [], [], 3],
  [
    'a credit out of nothing',
    `UPDATE payment SET transaction_id = 'nowhere' WHERE id = ${first}`,
    ['transfer_not_credited', 'credit_without_transfer'],
    [],
    2,
  ],
  [
    'a credit of more than came',
    `UPDATE entry SET amount = amount + 1 WHERE ref = 'topup:' || ${first}`,
    ['transfer_not_credited', 'credit_without_transfer'],
    [],
    2,
  ],
  [
    'a credit that lost its entry',
    `DELETE FROM entry WHERE ref = 'topup:' || ${first}`,
    ['transfer_not_credited'],
    [],
    2,
  ],
  [
    'a payment that was refused though it came',
    `DELETE FROM entry WHERE ref = 'topup:' || ${first}; UPDATE payment SET state = 'rejected' WHERE id = ${first}`,
    ['transfer_not_credited'],
    [],
    2,
  ],
  [
    'a payment that is on its way',
    `DELETE FROM entry WHERE ref = 'topup:' || ${first}; UPDATE payment SET state = 'unknown' WHERE id = ${first}`,
    [],
    ['transfer_not_credited'],
    2,
  ],
  [
    'a payment that has been on its way for more than an hour, and came',
    `DELETE FROM entry WHERE ref = 'topup:' || ${first};
     UPDATE payment SET state = 'unknown', created_at_ms = created_at_ms - 3660000 WHERE id = ${first}`,
    ['transfer_not_credited'],
    [],
    2,
  ],
  [
    'records from before a payment',
    `DELETE FROM entry WHERE ref = 'topup:' || ${first}; DELETE FROM payment WHERE id = ${first}`,
    [],
    ['transfer_without_payment'],
    2,
  ],
  [
    'one transaction credited twice',
    `UPDATE payment SET transaction_id = (SELECT max(transaction_id) FROM payment)`,
    ['transfer_not_credited', 'transfer_not_credited', 'credit_without_transfer', 'credit_without_transfer'],
    [],
    1,
  ],
  [
    'a credit without an account',
    `UPDATE payment SET payload = NULL WHERE id = ${first}`,
    ['credit_without_transfer', 'transfer_not_credited'],
    [],
    2,
  ],
]

describe.each([
  ['an EVM chain', paidOnEvm],
  ['Solana', paidOnSolana],
])('on %s', (_rail, open) => {
  let rail: PaidRail
  let folder: string
  let copy: string
  let copies = 0
  beforeAll(async () => {
    folder = temporaryFolder('chain-audit')
    rail = await open()
  }, 60_000)
  afterAll(() => rail.dispose())
  beforeEach(async () => {
    copy = join(folder, `records-${copies++}.db`)
    await backupSqlite(rail.database, copy)
  })

  const auditCopy = async () => {
    const reader = sqliteAuditReader(copy)
    try {
      return await auditChain(reader, async () => rail.source)
    } finally {
      await reader.close()
    }
  }

  test.each(damages)('%s', async (_rule, sql, findings, notes, matched) => {
    tamperWith(copy, unlocked + sql)
    const report = await auditCopy()
    expect(report.findings.map(({ kind }) => kind).sort()).toEqual([...findings].sort())
    // The gift is there in each.
    expect(report.notes.map(({ kind }) => kind).sort()).toEqual([...notes, 'transfer_without_payment'].sort())
    expect(report).toMatchObject({ ok: findings.length === 0, payees: [{ matched, transfers: 4 }] })
  })

  test('the command asks the node that the environment names, and says what it found', async () => {
    const env = { DATABASE_URL: `sqlite:${copy}`, [rail.variable]: rail.url }
    const { code, stdout, stderr } = await runCommand(['ledger', 'audit', '--chain'], env)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/: 3 credits, 3 of them on the chain; 4 transfers\nNote: \S+ brought 77 micro-USD, and no /)
    expect(stdout).toMatch(/\nEvery credit has its transfer\.\n$/)
    tamperWith(copy, damages[1]?.[1] ?? '')
    const damaged = await runCommand(['ledger', 'audit', '--chain', '--json'], env)
    expect(damaged.code).toBe(1)
    expect(JSON.parse(damaged.stdout)).toMatchObject({ ok: true, chain: { ok: false } })
  })

  test('a node that is not known, or does not answer, is one sentence that repeats no address', async () => {
    const database = { DATABASE_URL: `sqlite:${copy}` }
    const chain = ['ledger', 'audit', '--chain', '--data', folder]
    expect(await runCommand(chain, database)).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(
        `^This ledger has payments on \\S+, but no node is set for it and .*\\. Set ${rail.variable}`,
      ),
    })
    const dead = await runCommand(chain, { ...database, [rail.variable]: 'http://127.0.0.1:1/canary' })
    expect(dead).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The node does not answer \w+\. /),
    })
    expect(dead.stderr).not.toContain('canary')
  })
})

describe('nodes as they are', () => {
  let rail: PaidRail
  beforeAll(async () => {
    rail = await paidOnEvm()
  }, 60_000)
  afterAll(() => rail.dispose())

  interface Question {
    method: string
    params: { fromBlock: string; toBlock: string }[]
  }

  /** A node before the real one, which may answer by itself. */
  function nodeThat(answer: (question: Question) => object | null) {
    return localServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const own = answer(JSON.parse(text))
      const real = own
        ? null
        : await fetch(rail.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
      response.end(own ? JSON.stringify({ jsonrpc: '2.0', id: 1, ...own }) : await real?.text())
    })
  }

  const auditAt = async (url: string) => {
    const reader = sqliteAuditReader(rail.database)
    try {
      return await auditChain(reader, async () => evmTransfers(url))
    } finally {
      await reader.close()
    }
  }

  test('one that refuses many blocks at once is asked for fewer', async () => {
    let refused = 0
    const node = await nodeThat(({ method, params: [filter] }) => {
      if (method !== 'eth_getLogs' || Number(filter?.toBlock) - Number(filter?.fromBlock) < 2) return null
      refused++
      return { error: { code: -32005, message: 'query returned more than 10000 results' } }
    })
    expect(await auditAt(node.url)).toMatchObject({ ok: true, payees: [{ credits: 3, matched: 3, transfers: 4 }] })
    expect(refused).toBeGreaterThan(1)
    await node.close()
  })

  test('one of another chain is told, not believed', async () => {
    const node = await nodeThat(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null))
    await expect(auditAt(node.url)).rejects.toThrow('The node serves the chain eip155:1, not eip155:8453.')
    await node.close()
  })

  test('one that is busy for a moment is asked again', async () => {
    let asked = 0
    const node = await nodeThat(({ method }) =>
      method === 'eth_blockNumber' && ++asked === 1 ? { oops: 1, result: 7 } : null,
    )
    expect(await auditAt(node.url)).toMatchObject({ ok: true })
    expect(asked).toBe(2)
    await node.close()
  })
})
