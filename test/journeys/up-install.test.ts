/** One command after `npm ci`: the service runs, the user's client has farebox, and its first call is paid. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { launcher } from '../build/built-product.ts'
import { assistant } from './conversation.ts'
import { type SpawnedUp, spawnUp } from './spawned-up.ts'

vi.setConfig({ testTimeout: 120_000 })

const chat = { name: 'chat', arguments: { model: 'demo-chat', prompt: 'Say hello', max_tokens: 20 } }
const args = ['--no-journey', '--install', 'cursor', '--yes']

let home: string
let up: SpawnedUp
let startedAtMs: number
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'farebox-home-'))
  startedAtMs = performance.now()
  up = await spawnUp({ args, env: { HOME: home } })
}, 120_000)
afterAll(async () => {
  await up?.dispose()
  await rm(home, { recursive: true, force: true })
})

const installed = () => expect.poll(() => up.lines.find(({ event }) => event === 'installed'), { timeout: 30_000 })
const entry = () => JSON.parse(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).mcpServers.farebox

test('the client has farebox, and its first call is paid without a question', async () => {
  await installed().toMatchObject({ client: 'cursor', change: 'added', written: true, copy: null })
  expect(JSON.stringify(entry())).not.toMatch(/[0-9a-f]{64}/)
  const client = await assistant(entry(), {}, async () => ({ action: 'decline' }))
  const result = await client.callTool(chat)
  expect(result).toMatchObject({ structuredContent: { charged_usd: expect.any(Number) } })
  process.stderr.write(`first paid answer ${Math.round(performance.now() - startedAtMs)} ms after the command\n`)
  expect(await client.callTool({ name: 'wallet_status', arguments: {} })).toMatchObject({
    structuredContent: { on_chain: { Base: { usdc: 5 } } },
  })
  await client.close()
})

const run = (...words: string[]) =>
  spawnSync(process.execPath, [launcher, ...words], { env: { HOME: home, PATH: process.env.PATH }, encoding: 'utf8' })

test('while it runs, a second start names the command that adds another client', () => {
  const { status, stderr } = run('up', '--install', 'codex', '--yes', '--data', up.folder)
  expect([status, stderr]).toEqual([1, expect.stringMatching(/already serves the folder .* install codex --local /)])
})

test('another client is added to the running service, and told of the wallet that it has', async () => {
  await installed().toBeDefined()
  const { address } = JSON.parse(readFileSync(join(up.folder, 'assistant/local-wallet.json'), 'utf8'))
  const { status, stdout, stderr } = run('install', 'codex', '--local', up.folder, '--yes')
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain(`Its wallet is ${address}`)
  expect(stdout).toContain('make an image of a lighthouse')
})

test('a second start changes nothing in the client, and keeps its wallet and its money', async () => {
  const before = readFileSync(join(up.folder, 'assistant/local-wallet.json'), 'utf8')
  const port = new URL(up.baseUrl).port
  await up.stop()
  up = await spawnUp({ folder: up.folder, args: [...args, '--port', port], env: { HOME: home } })
  await installed().toMatchObject({ change: 'unchanged', written: false })
  expect(readFileSync(join(up.folder, 'assistant/local-wallet.json'), 'utf8')).toBe(before)
  const client = await assistant(entry(), {}, async () => ({ action: 'decline' }))
  expect(await client.callTool(chat)).toMatchObject({ structuredContent: { charged_usd: expect.any(Number) } })
  expect(await client.callTool({ name: 'wallet_status', arguments: {} })).toMatchObject({
    structuredContent: { on_chain: { Base: { usdc: 5 } } },
  })
  await client.close()
})
