import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteReader, openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { nonce, nowMs } from './sample-ops.ts'
import { temporaryFolder } from './sqlite-folder.ts'

const child = fileURLToPath(new URL('./committing-child.ts', import.meta.url))

/** Runs a child that commits and prints what was acknowledged; kills it with SIGKILL after so many lines. */
async function acknowledgedBeforeKill(
  path: string,
  lines: number,
  whileItRuns?: () => Promise<void>,
): Promise<string[]> {
  const writing = spawn(process.execPath, [child, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void writing.kill('SIGKILL'))
  const closed = once(writing, 'close')
  const acknowledged: string[] = []
  for await (const line of createInterface({ input: writing.stdout })) {
    acknowledged.push(line)
    if (acknowledged.length !== lines) continue
    await whileItRuns?.()
    writing.kill('SIGKILL')
  }
  await closed
  // A line that the kill cut short names no unit.
  return acknowledged.filter(line => line.endsWith('.'))
}

test('kill -9 loses nothing that was acknowledged', { timeout: 60_000 }, async () => {
  const { path, remove } = temporaryFolder()
  const acknowledged: string[] = []
  for (const lines of [1, 20, 150, 400, 900]) {
    acknowledged.push(...(await acknowledgedBeforeKill(path, lines)))
    const store = await openSqliteStore({ path })
    const again = acknowledged.map(line => ({ id: line.slice(0, -1), ops: [nonce('never')] }))
    const outcomes = await store.commit(again)
    expect(outcomes.filter(outcome => !outcome.ok || !outcome.again)).toEqual([])
    await store.close()
    const report = await audit(path, { clock: { now: () => nowMs } })
    expect(report).toMatchObject({ ok: true, driftMicroUsd: 0n })
  }
  expect(acknowledged.length).toBeGreaterThan(1_400)
  remove()
})

test('a folder belongs to one process until that process ends, however it ends', async () => {
  const { path, folder, remove } = temporaryFolder()
  await acknowledgedBeforeKill(path, 1, async () => {
    const refused = openSqliteStore({ path })
    await expect(refused).rejects.toMatchObject({ kind: 'folder_in_use', message: expect.stringContaining(folder) })
    const reader = openSqliteReader(path)
    expect(await reader.selectFrom('account').select('id').execute()).toEqual([{ id: 'ada' }])
    await reader.destroy()
    expect(await audit(path, { clock: { now: () => nowMs } })).toMatchObject({ ok: true })
  })
  const store = await openSqliteStore({ path })
  await expect(openSqliteStore({ path })).rejects.toMatchObject({ kind: 'folder_in_use' })
  // The refused second opening must not have freed the first one's lock for another process.
  const intruder = spawn(process.execPath, [child, path], { stdio: 'ignore' })
  onTestFinished(() => void intruder.kill('SIGKILL'))
  const [code] = await once(intruder, 'exit')
  expect(code).toBe(1)
  await store.close()
  remove()
})
