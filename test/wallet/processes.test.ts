import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { keyFromHex } from '#wallet/keys/keys.ts'
import { schema } from '#wallet/records/postgres/connection.ts'
import { openWallet } from '#wallet/wallet.ts'
import { query } from '../postgres/cluster.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { credited, nobody, order, policy, readHeader, secret, temporaryFolder, usd } from './sample-wallet.ts'

const child = fileURLToPath(new URL('./paying-child.ts', import.meta.url))

interface Run {
  folder: string
  rounds?: number
  /** One file for all who pay the same service. */
  settled?: string
  kill?: readonly string[]
  env?: Record<string, string>
}

async function run({ folder, rounds = 1, settled = settledPath(folder), kill = [], env = {} }: Run) {
  const args = [child, folder, `${rounds}`, settled, ...kill]
  const options = { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env } } satisfies SpawnOptions
  const started = spawn(process.execPath, args, options)
  const [code, signal]: (number | string | null)[] = await once(started, 'close')
  return { code, signal }
}

const settledPath = (folder: string): string => join(folder, 'settled.txt')

/** What the service has taken, by nonce: the same authorization counts once, as on a chain. */
function settledIn(folder: string): Set<string> {
  const path = settledPath(folder)
  if (!existsSync(path)) return new Set()
  return new Set(readFileSync(path, 'utf8').trim().split('\n'))
}

function journalOf(folder: string) {
  const database = new DatabaseSync(join(folder, 'agent.db'), { readOnly: true })
  try {
    return {
      signatures: database
        .prepare(`SELECT payment_id, count(*) AS signed FROM payment_steps WHERE state = 'signed' GROUP BY payment_id`)
        .all()
        .map(row => Number(row.signed)),
      open: database
        .prepare(`SELECT state FROM payments WHERE state NOT IN ('confirmed', 'dead')`)
        .all()
        .map(row => row.state),
      counted: Number(
        database.prepare('SELECT coalesce(sum(amount_micro_usd), 0) AS sum FROM payments WHERE counts = 1').get()?.sum,
      ),
    }
  } finally {
    database.close()
  }
}

test('eight processes share one budget', { timeout: 60_000 }, async () => {
  const folder = temporaryFolder()
  const ended = await Promise.all(Array.from({ length: 8 }, () => run({ folder, rounds: 6 })))
  expect(ended).toEqual(Array(8).fill({ code: 0, signal: null }))
  expect(settledIn(folder).size).toBe(2)
  expect(journalOf(folder)).toEqual({ signatures: [1, 1], open: [], counted: Number(usd(10)) })
})

/** 150 USD a day are thirty payments of 5 USD; some processes are killed at their work and started again. */
const manyCaps = { FAREBOX_MAX_DAY_USD: '150', FAREBOX_MAX_TOTAL_USD: '1000' }
const someKills = [['after', '3'], ['before', '5'], ['after', '4'], ['settled'], ['sending']]

async function spendTheDay(folders: readonly string[], settled: string, env: Record<string, string> = {}) {
  const all = { ...manyCaps, ...env }
  await Promise.all(someKills.map((kill, n) => run({ folder: folders[n] ?? '', rounds: 4, settled, kill, env: all })))
  const ended = await Promise.all(folders.map(folder => run({ folder, rounds: 60, settled, env: all })))
  expect(ended).toEqual(Array(10).fill({ code: 0, signal: null }))
}

test('ten processes on one folder, some of them killed, sign 150 USD in a day and no more', {
  timeout: 600_000,
}, async () => {
  const folder = temporaryFolder()
  await spendTheDay(Array(10).fill(folder), settledPath(folder))
  const { signatures, open, counted } = journalOf(folder)
  expect({ open, counted }).toEqual({ open: [], counted: Number(usd(150)) })
  expect(signatures).toEqual(Array(30).fill(1))
  expect(settledIn(folder).size).toBe(30)
})

withPostgres('ten replicas on one journal in PostgreSQL', cluster => {
  test('sign 150 USD in a day and no more, some of them killed', { timeout: 600_000 }, async () => {
    const name = cluster().newSchema()
    await cluster().asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
    const url = cluster().urlOf('farebox', name)
    const folders = Array.from({ length: 10 }, temporaryFolder)
    const [first = ''] = folders
    await spendTheDay(folders, settledPath(first), { FAREBOX_JOURNAL_URL: url })
    const signed = await query(
      url,
      `SELECT count(*)::int AS signatures, count(DISTINCT payment_id)::int AS payments,
         (SELECT sum(amount_micro_usd)::int FROM ${schema}.payments WHERE counts = 1) AS counted,
         (SELECT count(*)::int FROM ${schema}.payments WHERE state NOT IN ('confirmed', 'dead')) AS open
       FROM ${schema}.payment_steps WHERE state = 'signed'`,
    )
    expect(signed).toEqual([{ signatures: 30, payments: 30, counted: Number(usd(150)), open: 0 }])
    expect(settledIn(first).size).toBe(30)
  })
})

const kills: string[][] = [
  ...Array.from({ length: 8 }, (_, n) => ['before', String(n + 1)]),
  ...Array.from({ length: 8 }, (_, n) => ['after', String(n + 1)]),
  // Twice in a payment it is noted how far the journal has come: before anything else, and before the bytes leave.
  ...Array.from({ length: 2 }, (_, n) => ['looked', String(n + 1)]),
  ...Array.from({ length: 4 }, (_, n) => ['syncing', String(n + 1)]),
  ['sending'],
  ['settled'],
]

test.each(kills)('killed %s %s, every payment ends and none is doubled', { timeout: 60_000 }, async (...kill) => {
  const folder = temporaryFolder()
  const { signal } = await run({ folder, kill })
  const wasKilled = signal === 'SIGKILL'
  const before = settledIn(folder).size
  // A payment is seven transactions; the eighth kill point shows that the sweep has passed its end.
  expect(wasKilled).toBe(kill[1] !== '8')
  const wallet = openWallet({
    key: await keyFromHex(secret),
    policy: policy({ cooldownMs: 0 }),
    dataFolder: folder,
    notesFolder: join(folder, 'notes'),
    nodes: nobody,
  })
  const sent: string[] = []
  const send = async (header: string) => {
    sent.push(header)
    return credited(wallet.address, BigInt(readHeader(header).authorization.value))
  }
  const recovered = await wallet.recover(send)
  const nonces = new Set([...settledIn(folder)].map(line => line.split(' ')[0]))
  for (const header of sent) nonces.add(readHeader(header).authorization.nonce)
  // Whatever had left is the payment that was recovered: the very same authorization.
  expect(nonces.size).toBeLessThanOrEqual(1)
  expect(recovered.map(payment => payment.state)).toEqual(recovered.map(() => 'confirmed'))
  if (!wasKilled) expect(before).toBe(1)
  await wallet.pay(order(), send)
  await wallet.close()
  const { signatures, open, counted } = journalOf(folder)
  expect(open).toEqual([])
  expect(signatures.every(count => count === 1)).toBe(true)
  expect(counted).toBeLessThanOrEqual(Number(usd(10)))
})
