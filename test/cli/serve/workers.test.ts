/** Several processes behind one port. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { runCommand } from '../run-command.ts'
import { type SpawnedServe, spawnServe } from './spawned-serve.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const config = (more = '') => `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]
${more}`

const postgres = 'database: postgres://nobody@127.0.0.1:1/none\n'

test.each([
  ['a ledger in SQLite', '', ['--workers', '2'], 1, /ledger in PostgreSQL.*`database` or DATABASE_URL/s],
  [
    'figures on the API’s own port',
    `${postgres}metrics: { token: '$\{TOKEN}' }\n`,
    ['--workers', '2'],
    1,
    /`metrics\.listen`/,
  ],
  ['no worker', '', ['--workers', '0'], 2, /whole number from 1 to 64/],
  ['more workers than a machine has use for', '', ['--workers', '65'], 2, /whole number from 1 to 64/],
])('%s is refused in words', async (_, more, args, code, says) => {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-workers-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'farebox.yaml')
  await writeFile(file, config(more))
  for (const check of [['--check'], []]) {
    const end = await runCommand(['serve', '--config', file, ...args, ...check], {
      TOKEN: 'a-token-for-scrapers-that-nobody-guesses',
    })
    expect([end.code, end.stdout]).toEqual([code, ''])
    expect(end.stderr).toMatch(says)
  }
})

/** All services on one ledger have the same. */
const secret = { FAREBOX_SECRET: 'a secret that all services of this test have' }

const ready = (serve: SpawnedServe, worker: number) =>
  serve.log.filter(line => line.message === 'The service is ready.' && line.worker === worker)

const pidOf = (serve: SpawnedServe, worker: number) => Number(ready(serve, worker).at(-1)?.pid)

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

withPostgres('two workers', cluster => {
  async function start(more = ''): Promise<SpawnedServe> {
    const serve = await spawnServe(config(`database: ${cluster().url}\n${more}`), secret, ['--workers', '2'])
    onTestFinished(() => serve.dispose())
    await vi.waitUntil(() => ready(serve, 1).length && ready(serve, 2).length, { timeout: 60_000 })
    return serve
  }

  async function caller(serve: SpawnedServe) {
    const env = { DATABASE_URL: cluster().url, ...secret }
    const made = await runCommand(['keys', 'create', '--usd', '5', '--data', join(serve.folder, '.farebox')], env)
    expect(made.stderr).toBe('')
    const body = JSON.stringify({ model: 'one', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 })
    // A connection each, so that both workers get some of them.
    const headers = { authorization: `Bearer ${made.stdout.trim()}`, connection: 'close' }
    return async () => {
      const chat = await fetch(`${serve.baseUrl}/chat/completions`, {
        ...{ method: 'POST', body },
        headers: { ...headers, 'content-type': 'application/json' },
      })
      await chat.text()
      return chat.status
    }
  }

  test('share a port and a ledger, each shows its own figures, and both reload and stop by one signal', {
    tags: ['posix'],
  }, async () => {
    const port = await freePort()
    const serve = await start(`metrics: { listen: '127.0.0.1:${port}' }\n`)
    const chat = await caller(serve)
    expect(await Promise.all(Array.from({ length: 20 }, chat))).toEqual(Array.from({ length: 20 }, () => 200))
    const figuresAt = async (at: number) => (await fetch(`http://127.0.0.1:${at}/metrics`)).text()
    for (const at of [port, port + 1]) expect(await figuresAt(at)).toMatch(/farebox_requests_total\{.*\} [1-9]/)
    serve.child.kill('SIGHUP')
    const reloaded = () => serve.log.filter(line => line.message === 'The configuration was reloaded.')
    await vi.waitUntil(() => reloaded().length === 2)
    expect(
      reloaded()
        .map(({ worker }) => worker)
        .sort(),
    ).toEqual([1, 2])
    const pids = [pidOf(serve, 1), pidOf(serve, 2)]
    serve.child.kill('SIGTERM')
    expect(await serve.ended).toBe(0)
    expect(serve.log.filter(line => line.message === 'Stopped.')).toHaveLength(2)
    expect(pids.filter(isRunning)).toEqual([])
  })

  test('end with 1 and the reason where the first cannot start', { tags: ['posix'] }, async () => {
    const other = { FAREBOX_SECRET: 'another secret than that of the keys in this ledger' }
    const started = spawnServe(config(`database: ${cluster().url}\n`), other, ['--workers', '2'])
    await expect(started).rejects.toThrow(/It ended with 1: .*secret/)
  })

  test('one that is killed is replaced, while the other one answers', { tags: ['posix'] }, async () => {
    const serve = await start()
    const chat = await caller(serve)
    process.kill(pidOf(serve, 2), 'SIGKILL')
    await serve.logged('A worker ended; another one takes its place.')
    expect(await Promise.all(Array.from({ length: 8 }, chat))).toEqual(Array.from({ length: 8 }, () => 200))
    await vi.waitUntil(() => ready(serve, 2).length === 2, { timeout: 60_000 })
    expect(await chat()).toBe(200)
    serve.child.kill('SIGTERM')
    expect(await serve.ended).toBe(0)
  })

  test('end in order when the process that supervises them is killed', { tags: ['posix'] }, async () => {
    const serve = await start()
    const pids = [pidOf(serve, 1), pidOf(serve, 2)]
    serve.child.kill('SIGKILL')
    await serve.ended
    await vi.waitUntil(() => pids.filter(isRunning).length === 0, { timeout: 30_000 })
    expect(serve.log.filter(line => line.message === 'Stopped.')).toHaveLength(2)
  })
})
