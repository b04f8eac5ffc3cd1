import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { callTokens, callUsd } from './exact-engine.ts'

/** Enough that a minute's limit of requests, counted by model in each process, stays far away. */
const models = 4
const calls = 1_000
const affordable = 100

withPostgres('two service processes on one PostgreSQL database', cluster => {
  let folder = ''
  const children: ChildProcess[] = []
  const urls: string[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'farebox-two-'))
    for (const child of [startService(), startService()]) {
      children.push(child)
      const [{ port }] = (await once(child, 'message')) as [{ port: number }]
      urls.push(`http://127.0.0.1:${port}/api/v1/chat/completions`)
    }
  }, 60_000)
  afterAll(async () => {
    for (const child of children) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  })

  const startService = () =>
    fork(new URL('service-process.ts', import.meta.url), {
      env: {
        ...process.env,
        SERVICE_DATABASE: cluster().url,
        SERVICE_FOLDER: folder,
        SERVICE_MODELS: `${models}`,
      },
    })

  const call = async (key: string, index: number): Promise<number> => {
    const messages = [{ role: 'user', content: `call ${index}` }]
    const answer = await fetch(urls[index % urls.length] ?? '', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: `exact-${index % models}`, max_tokens: callTokens, messages }),
    })
    await answer.arrayBuffer()
    return answer.status
  }

  test(`${calls} requests at once against credit for ${affordable}: exactly ${affordable} are answered`, async () => {
    const [first] = children
    first?.send({ usd: (affordable * callUsd).toFixed(6) })
    const [{ key }] = (await once(first as ChildProcess, 'message')) as [{ key: string }]
    const statuses = await Promise.all(Array.from({ length: calls }, (_, index) => call(key, index)))
    expect(statuses.filter(status => status === 200)).toHaveLength(affordable)
    // The others have no credit, or meet the block that so many failures earn their key.
    const others = statuses.filter(status => status !== 200)
    expect(others.filter(status => status !== 402 && status !== 429)).toEqual([])
    const reader = await postgresAuditReader(cluster().url)
    const report = await audit(reader)
    await reader.close()
    expect(report).toMatchObject({ ok: true, driftMicroUsd: 0n, counts: { openHolds: 0 } })
    expect(report.systemMicroUsd['system:revenue']).toBe(BigInt(Math.round(affordable * callUsd * 1e6)))
  }, 60_000)
})
