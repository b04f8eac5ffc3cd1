/** Several processes behind one port. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { freePort } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
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
  const folder = temporaryFolder('workers')
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

/** All services on one ledger has the same. */
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

const statusesOf = async (chat: () => Promise<{ status: number }>, calls: number) =>
  (await Promise.all(Array.from({ length: calls }, () => chat()))).map(({ status }) => status)

test('one that keeps ending before it serves is started less and less often, and then all of them stop', {
  tags: ['posix'],
}, async () => {
  const folder = temporaryFolder('workers')
  const child = spawn(process.execPath, [join(import.meta.dirname, 'failing-workers-child.ts'), folder])
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', line => {
    said.push(line)
    // Neither the process that supervises them nor one that starts ends by the signal.
    if (line.includes('"starting"')) child.kill('SIGHUP')
  })
  expect((await once(child, 'close'))[0]).toBe(1)
  const told = said.map(line => JSON.parse(line) as { what: string; atMs: number; attempt?: number; number?: number })
  const of = (what: string) => told.filter(line => line.what === what)
  expect(of('A worker ended before it was ready.').map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
  expect(
    of('Worker 2 was replaced 4 times in a row and ended soon after each start, so all workers were stopped.'),
  ).toHaveLength(1)
  const starts = of('failed start').map(({ atMs }) => atMs)
  const pauses = starts.slice(1).map((atMs, index) => atMs - (starts[index] ?? 0))
  // Each start takes its own time as well, so a pause is only known to be no shorter.
  for (const [index, pauseMs] of pauses.entries()) expect(pauseMs).toBeGreaterThanOrEqual([200, 400, 400][index] ?? 0)
  expect(of('stopped in order')).toHaveLength(1)
  expect(of('reloaded').map(({ number }) => number)).toEqual([1, 2])
})

test.each([
  ['reports that it cannot start', 'nowhere'],
  ['throws', 'a-file'],
])(
  'one whose process the system does not start counts as ended, where Node %s',
  { tags: ['posix'] },
  async (_, name) => {
    const folder = temporaryFolder('workers')
    await writeFile(join(folder, 'a-file'), '')
    const child = join(import.meta.dirname, 'failing-workers-child.ts')
    const supervising = spawn(process.execPath, [child, folder, join(folder, name)], { timeout: 20_000 })
    let said = ''
    supervising.stdout.setEncoding('utf8').on('data', text => {
      said += text
    })
    expect((await once(supervising, 'close'))[0]).toBe(1)
    expect(said).toContain('Worker 2 was replaced 4 times in a row')
    expect(said).toContain('stopped in order')
  },
)

/** Signs in by a link; each question has a connection of its own, so that both workers get some of them. */
async function consoleOf(link: string) {
  const { origin, hash } = new URL(link)
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${origin}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json', connection: 'close', origin, ...headers },
    })
  const begun = await post('/api/session', { token: hash.slice(1) })
  const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const session = { cookie, 'farebox-page-key': ((await begun.json()) as { key: string }).key }
  return async <Answer = { totals: { requests: number }; requests: number; processes: object }>(
    path: string,
    body: object = {},
  ) => {
    const answered = await post(path, body, session)
    expect([path, answered.status]).toEqual([path, 200])
    return (await answered.json()) as Answer
  }
}

/** Callers who ask again and again, and note which of their calls were answered, until they are stopped. */
function load(chat: () => Promise<{ status: number; request: string }>) {
  const answered: string[] = []
  let isStopped = false
  const again = async () => {
    while (!isStopped) {
      const { status, request } = await chat().catch(() => ({ status: 0, request: '' }))
      if (status === 200) answered.push(request)
    }
  }
  const callers = Array.from({ length: 6 }, again)
  return {
    answered,
    /** Resolves once so many more calls have been answered. */
    more: (calls: number) => {
      const enough = answered.length + calls
      return vi.waitUntil(() => answered.length >= enough, { timeout: 60_000 })
    },
    async stop() {
      isStopped = true
      await Promise.all(callers)
    },
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
    expect(made.code).toBe(0)
    const bodyFor = (model: string) =>
      JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 })
    // A connection each, so that both workers get some of them.
    const headers = { authorization: `Bearer ${made.stdout.trim()}`, connection: 'close' }
    return async (model = 'one') => {
      const chat = await fetch(`${serve.baseUrl}/chat/completions`, {
        ...{ method: 'POST', body: bodyFor(model) },
        headers: { ...headers, 'content-type': 'application/json' },
      })
      await chat.text()
      return { status: chat.status, request: chat.headers.get('cf-ray') ?? '' }
    }
  }

  test('have one console: both know a session of either', { tags: ['posix'] }, async () => {
    const at = `127.0.0.1:${await freePort()}`
    const serve = await start(`admin: { listen: '${at}' }\n`)
    const chat = await caller(serve)
    expect(await statusesOf(chat, 20)).toEqual(Array.from({ length: 20 }, () => 200))
    const made = await runCommand(['console', '--data', join(serve.folder, '.farebox')], {
      DATABASE_URL: cluster().url,
    })
    expect([made.code, made.stderr.split('\n')[0]]).toEqual([0, expect.stringContaining('works once')])
    expect(new URL(made.stdout.trim()).origin).toBe(`http://${at}`)
    const ask = await consoleOf(made.stdout.trim())
    const asked = Array.from({ length: 10 })
    for (const { totals } of await Promise.all(asked.map(() => ask('/api/operator/overview'))))
      expect(totals.requests).toBe(20)
    const live = await Promise.all(asked.map(() => ask('/api/live')))
    expect(live[0]?.processes).toEqual({ answered: 1, of: 1 })
    // Whichever worker answered says how many of the calls were its own.
    for (const { requests } of live) expect(requests).toBeLessThanOrEqual(20)
    const own = [...new Set(live.map(({ requests }) => requests))]
    if (own.length === 2) expect(own.reduce((sum, requests) => sum + requests, 0)).toBe(20)
  })

  test('what an operator does through one of them holds in the other: a price, a suspension, an unblocked caller', {
    tags: ['posix'],
  }, async () => {
    const at = `127.0.0.1:${await freePort()}`
    const serve = await start(`admin: { listen: '${at}' }\n`)
    const chat = await caller(serve)
    const env = { DATABASE_URL: cluster().url }
    const made = await runCommand(['console', '--data', join(serve.folder, '.farebox')], env)
    const ask = await consoleOf(made.stdout.trim())
    const statuses = (status: number) => Array.from({ length: calls }, () => status)
    const calls = 12
    interface Edits {
      edits: { version: string; isLoaded: boolean }
    }
    const { edits } = await ask<Edits>('/api/settings')
    const price = { kind: 'price', model: 'one', price: 'outputPerMillionUsd', usd: '1000' }
    const order = { version: edits.version, changes: [price], reason: 'a dearer engine' }
    expect((await ask<{ said: string }>('/api/settings/change', order)).said).toMatch(/the service uses it/)
    // No wait: once the answer is there, no worker charges the former price.
    const charged = await Promise.all(Array.from({ length: calls }, () => chat()))
    for (const { request } of charged) {
      const { chargedUsd } = await ask<{ chargedUsd: string }>('/api/operator/request', { request })
      expect(Number(chargedUsd)).toBeGreaterThan(0.001)
    }
    const seen = await Promise.all(Array.from({ length: calls }, () => ask<Edits>('/api/settings')))
    expect(seen.map(each => each.edits.isLoaded)).toEqual(seen.map(() => true))

    const { rows } = await ask<{ rows: { customer: string }[] }>('/api/operator/customers')
    const customer = rows[0]?.customer ?? ''
    await ask('/api/operator/customer.suspend', { customer, reason: 'a stolen card' })
    expect(await statusesOf(chat, calls)).toEqual(statuses(403))
    await ask('/api/operator/customer.resume', { customer })
    expect(await statusesOf(chat, calls)).toEqual(statuses(200))

    for (let failure = 0; failure < 60; failure++) await chat('no such model')
    expect(await statusesOf(chat, calls)).toEqual(statuses(429))
    const { blocks } = await ask<{ blocks: { subject: string }[] }>('/api/operator/limits')
    expect(blocks).toHaveLength(1)
    await ask('/api/operator/limit.unblock', { subject: blocks[0]?.subject, reason: 'a mistake of theirs' })
    expect(await statusesOf(chat, calls)).toEqual(statuses(200))
  })

  test('one that is being replaced during a change runs by it', { tags: ['posix'] }, async () => {
    const at = `127.0.0.1:${await freePort()}`
    const serve = await start(`admin: { listen: '${at}' }\n`)
    const chat = await caller(serve)
    const made = await runCommand(['console', '--data', join(serve.folder, '.farebox')], {
      DATABASE_URL: cluster().url,
    })
    const ask = await consoleOf(made.stdout.trim())
    process.kill(pidOf(serve, 2), 'SIGKILL')
    await serve.logged('A worker ended; a new one replaces it.')
    for (const usd of ['500', '1000']) {
      const { edits } = await ask<{ edits: { version: string } }>('/api/settings')
      const price = { kind: 'price', model: 'one', price: 'outputPerMillionUsd', usd }
      const order = { version: edits.version, changes: [price], reason: 'a dearer engine' }
      expect((await ask<{ said: string }>('/api/settings/change', order)).said).toMatch(/the service uses it/)
      if (usd === '500') await vi.waitUntil(() => ready(serve, 2).length === 2, { timeout: 60_000, interval: 1 })
    }
    const charged = await Promise.all(Array.from({ length: 12 }, () => chat()))
    for (const { request } of charged) {
      const { chargedUsd } = await ask<{ chargedUsd: string }>('/api/operator/request', { request })
      expect(Number(chargedUsd)).toBeGreaterThan(0.001)
    }
  })

  test('share a port and a ledger, each shows its own figures, and both reload and stop by one signal', {
    tags: ['posix'],
  }, async () => {
    const port = await freePort()
    const serve = await start(`metrics: { listen: '127.0.0.1:${port}' }\n`)
    const chat = await caller(serve)
    expect(await statusesOf(chat, 20)).toEqual(Array.from({ length: 20 }, () => 200))
    const figuresAt = async (at: number) => (await fetch(`http://127.0.0.1:${at}/metrics`)).text()
    for (const at of [port, port + 1]) expect(await figuresAt(at)).toMatch(/farebox_requests_total\{.*\} [1-9]/)
    serve.child.kill('SIGHUP')
    const reloaded = () => serve.log.filter(line => line.message === 'The configuration was reloaded.')
    await expect
      .poll(() =>
        reloaded()
          .map(({ worker }) => worker)
          .sort(),
      )
      .toEqual([1, 2])
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
    await serve.logged('A worker ended; a new one replaces it.')
    expect(await statusesOf(chat, 8)).toEqual(Array.from({ length: 8 }, () => 200))
    await vi.waitUntil(() => ready(serve, 2).length === 2, { timeout: 60_000 })
    expect(await statusesOf(chat, 1)).toEqual([200])
    serve.child.kill('SIGTERM')
    expect(await serve.ended).toBe(0)
  })

  const faults: [what: string, strike: (serve: SpawnedServe) => void, goesOn: boolean][] = [
    ['a worker is killed', serve => process.kill(pidOf(serve, 1), 'SIGKILL'), true],
    ['the configuration is reloaded', serve => serve.child.kill('SIGHUP'), true],
    ['the process that supervises them is killed', serve => serve.child.kill('SIGKILL'), false],
    ['they are stopped', serve => serve.child.kill('SIGTERM'), false],
  ]

  test.each(faults)(
    'lose nothing that was answered when %s under load',
    { tags: ['posix'] },
    async (_, strike, goesOn) => {
      const serve = await start()
      const pids = [pidOf(serve, 1), pidOf(serve, 2)]
      const callers = load(await caller(serve))
      await callers.more(40)
      strike(serve)
      if (goesOn) {
        await callers.more(40)
        serve.child.kill('SIGTERM')
      }
      await serve.ended
      await callers.stop()
      await vi.waitUntil(() => pids.filter(isRunning).length === 0, { timeout: 60_000 })
      const reader = await postgresAuditReader(cluster().url)
      const charged = new Set<string>()
      for await (const { request } of reader.rows<{ request: string }>(
        `SELECT request FROM entry WHERE kind = 'CHARGE'`,
      ))
        charged.add(request)
      expect(callers.answered.filter(request => !charged.has(request))).toEqual([])
      expect(await audit(reader)).toMatchObject({ ok: true, driftMicroUsd: 0n })
      await reader.close()
    },
  )

  test('end in order when the process that supervises them is killed', { tags: ['posix'] }, async () => {
    const serve = await start()
    const pids = [pidOf(serve, 1), pidOf(serve, 2)]
    serve.child.kill('SIGKILL')
    await serve.ended
    await vi.waitUntil(() => pids.filter(isRunning).length === 0, { timeout: 30_000 })
    expect(serve.log.filter(line => line.message === 'Stopped.')).toHaveLength(2)
  })
})
