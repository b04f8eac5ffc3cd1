import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { keyFromHex } from '#wallet/keys.ts'
import { openWallet } from '#wallet/wallet.ts'
import { credited, order, policy, readHeader, secret, temporaryFolder, usd } from './sample-wallet.ts'

const child = fileURLToPath(new URL('./paying-child.ts', import.meta.url))

async function run(...args: string[]): Promise<{ code: number | null; signal: string | null }> {
  const started = spawn(process.execPath, [child, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code, signal] = await once(started, 'close')
  return { code, signal }
}

/** What the service has taken, by nonce: the same authorisation counts once, as on a chain. */
function settledIn(folder: string): Set<string> {
  const path = join(folder, 'settled.txt')
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
  const ended = await Promise.all(Array.from({ length: 8 }, () => run(folder, '6')))
  expect(ended).toEqual(Array(8).fill({ code: 0, signal: null }))
  expect(settledIn(folder).size).toBe(2)
  expect(journalOf(folder)).toEqual({ signatures: [1, 1], open: [], counted: Number(usd(10)) })
  rmSync(folder, { recursive: true })
})

const kills: string[][] = [
  ...Array.from({ length: 8 }, (_, n) => ['before', String(n + 1)]),
  ...Array.from({ length: 8 }, (_, n) => ['after', String(n + 1)]),
  ['sending'],
  ['settled'],
]

test.each(kills)('killed %s %s, every payment ends and none is doubled', { timeout: 60_000 }, async (...kill) => {
  const folder = temporaryFolder()
  const { signal } = await run(folder, '1', ...kill)
  const wasKilled = signal === 'SIGKILL'
  const before = settledIn(folder).size
  // A payment is seven transactions; the eighth kill point shows that the sweep has passed its end.
  expect(wasKilled).toBe(kill[1] !== '8')
  const wallet = openWallet({ key: await keyFromHex(secret), policy: policy({ cooldownMs: 0 }), stateFolder: folder })
  const sent: string[] = []
  const send = async (header: string) => {
    sent.push(header)
    return credited(wallet.address, BigInt(readHeader(header).authorization.value))
  }
  const recovered = await wallet.recover(send)
  const nonces = new Set([...settledIn(folder)].map(line => line.split(' ')[0]))
  for (const header of sent) nonces.add(readHeader(header).authorization.nonce)
  // Whatever had left is the payment that was recovered: the very same authorisation.
  expect(nonces.size).toBeLessThanOrEqual(1)
  expect(recovered.map(payment => payment.state)).toEqual(recovered.map(() => 'confirmed'))
  if (!wasKilled) expect(before).toBe(1)
  await wallet.pay(order(), send)
  await wallet.close()
  const { signatures, open, counted } = journalOf(folder)
  expect(open).toEqual([])
  expect(signatures.every(count => count === 1)).toBe(true)
  expect(counted).toBeLessThanOrEqual(Number(usd(10)))
  rmSync(folder, { recursive: true })
})
