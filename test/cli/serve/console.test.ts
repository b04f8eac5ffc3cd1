import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { launcher } from '../../build/built-product.ts'
import { type SpawnedServe, spawnServe } from './spawned-serve.ts'

vi.setConfig({ testTimeout: 120_000 })

const run = promisify(execFile)

let served: SpawnedServe | null = null
afterEach(async () => {
  await served?.dispose()
  served = null
})

const config = (admin: string) => `publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:0
${admin}
models:
  - id: demo
    type: text
    contextTokens: 8192
    description: a demonstration
    price: { inputPerMillionUsd: 0.1, outputPerMillionUsd: 0.2 }
    upstreams: [{ engine: demo }]
`

const console = (...args: string[]) => consoleOf(served, ...args)
const consoleOf = (of: SpawnedServe | null, ...args: string[]) =>
  run(process.execPath, [launcher, 'console', '--data', join(of?.folder ?? '', '.farebox'), ...args])

async function begin(link: string) {
  const { origin, hash } = new URL(link)
  const body = JSON.stringify({ token: hash.slice(1) })
  const response = await fetch(`${origin}/api/session`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', origin },
  })
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const { key } = (await response.json()) as { key: string }
  const headers = { cookie, 'farebox-page-key': key }
  const me = () => fetch(`${origin}/api/me`, { headers })
  const post = (path: string, body: object) =>
    fetch(`${origin}/api/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...headers, origin, 'content-type': 'application/json' },
    })
  const settings = async () => (await post('settings', {})).json()
  return { origin, status: response.status, me, settings, post }
}

test('a link from the terminal opens the console beside the API', async () => {
  served = await spawnServe(config('admin: { listen: "127.0.0.1:0" }'))
  const { stdout } = await console('--role', 'support')
  const { origin, status, me } = await begin(stdout.trim())
  expect(status).toBe(200)
  expect(new URL(served.baseUrl).origin).not.toBe(origin)
  expect(await (await me()).json()).toMatchObject({ role: 'support', ledger: { state: 'open' } })
  const page = await fetch(`${origin}/`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect((await fetch(`${origin}/api/v1/models`)).status).toBe(401)
  expect((await fetch(`${new URL(served.baseUrl).origin}/api/me`)).status).toBe(404)
  expect((await console('--sign-out')).stdout).toBe('Ended 1 session.\n')
  expect((await me()).status).toBe(401)
  expect(JSON.stringify(served.log)).not.toContain(new URL(stdout.trim()).hash.slice(1))
})

test('of two services on one machine, at most one has the usual port, and links to each work', async () => {
  // Other tests have services too: which of them all has the usual port changes while this one runs.
  served = await spawnServe(config(''))
  const other = await spawnServe(config(''))
  try {
    const links = await Promise.all([served, other].map(async each => (await consoleOf(each)).stdout.trim()))
    for (const link of links) expect((await begin(link)).status).toBe(200)
    expect(new Set(links.map(link => new URL(link).port)).size).toBe(2)
  } finally {
    await other.dispose()
  }
})

test('`admin: false` has no console', async () => {
  served = await spawnServe(config('admin: false'))
  await expect(console()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('has no console') })
})

test('an address that other machines reach is refused before anything is served', async () => {
  await expect(spawnServe(config('admin: { listen: "0.0.0.0:8405" }'))).rejects.toThrow(/Must be a loopback address/)
})

test('owners see what the file says now: its models, its faults, and what waits for a restart', async () => {
  const first = config('admin: { listen: "127.0.0.1:0" }')
  served = await spawnServe(first)
  const { settings } = await begin((await console()).stdout.trim())
  expect(await settings()).toMatchObject({ faults: [], waitForRestart: [], facts: { models: [{ id: 'demo' }] } })
  await served.write(first.replace('models:', 'logLevel: error\nmodels:').replace('id: demo', 'id: other'))
  expect(await settings()).toMatchObject({
    faults: [],
    waitForRestart: ['logLevel'],
    facts: { models: [{ id: 'other' }] },
  })
  await served.write(first.replace('0.2', 'cheap'))
  expect(await settings()).toMatchObject({
    facts: null,
    faults: [{ line: 9, field: 'models[0].price.outputPerMillionUsd' }],
  })
})

test('owners change a price and turn a model off in the file, and the service runs by it at once', async () => {
  const first = config('admin: { listen: "127.0.0.1:0" }').replace('a demonstration', 'word-of-the-file')
  served = await spawnServe(first)
  const { settings, post } = await begin((await console()).stdout.trim())
  const file = () => readFile(join(served?.folder ?? '', 'farebox.yaml'), 'utf8')
  const models = async () => (await (await fetch(`${served?.baseUrl}/models`)).json()) as { data: Listed[] }
  const change = async (changes: object[]) => {
    const { edits } = (await settings()) as { edits: { version: string } }
    return post('settings/change', { version: edits.version, changes, reason: 'Cheaper now' })
  }
  const cheaper = { kind: 'price', model: 'demo', price: 'outputPerMillionUsd', usd: '0.15' }
  expect((await change([cheaper])).status).toBe(200)
  expect(await file()).toBe(first.replace('0.2 }', '0.15 }'))
  expect((await models()).data[0]?.model_spec.pricing.output.usd).toBe(0.15)
  expect((await change([{ kind: 'model', model: 'demo', isOn: false }])).status).toBe(200)
  expect((await models()).data).toEqual([])
  expect(await settings()).toMatchObject({ edits: { isLoaded: true, models: [{ model: 'demo', isOn: false }] } })
  // What was shown is no longer what is there.
  const { edits } = (await settings()) as { edits: { version: string } }
  await served.write(first)
  const late = await post('settings/change', { version: edits.version, changes: [cheaper], reason: 'x' })
  expect([late.status, await file()]).toEqual([409, first])
  expect(await settings()).toMatchObject({ edits: { isLoaded: false } })
  const { rows } = (await (await post('operator/acts', { act: 'settings.change' })).json()) as { rows: object[] }
  expect(rows).toMatchObject([
    { subject: 'farebox.yaml', reason: 'Cheaper now', before: { lines: [] }, after: { lines: ['enabled: false'] } },
    { before: { lines: [expect.stringContaining('0.2 }')] }, after: { lines: [expect.stringContaining('0.15 }')] } },
  ])
  expect(JSON.stringify(rows)).not.toContain('word-of-the-file')
})

interface Listed {
  model_spec: { pricing: { output: { usd: number } } }
}
