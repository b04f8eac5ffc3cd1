/** The bundle for desktop assistants: packed, unpacked into an empty folder, and started as its own manifest says. */
import { spawnSync } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getMcpConfigForManifest, MANIFEST_SCHEMAS, unpackExtension, validateManifest } from '@anthropic-ai/mcpb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LineServer } from '../../bench/mcp/line-server.ts'
import { everyMachine, packBundle } from '../../scripts/mcpb/pack-bundle.ts'
import { assistant, browser } from '../journeys/conversation.ts'
import { spawnUp } from '../journeys/spawned-up.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Those of this machine; those of all are fetched where a bundle is packed for users. */
const machines = globSync('node_modules/@napi-rs/keyring-*', { cwd: root }).map(path => path.replace(/^.*keyring-/, ''))
let folder: string
let unpacked: string
let files: string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-mcpb-'))
  unpacked = join(folder, 'unpacked')
  await packBundle(root, join(folder, 'stage'), join(folder, 'farebox.mcpb'), machines)
  await mkdir(unpacked)
  await unpackExtension({ mcpbPath: join(folder, 'farebox.mcpb'), outputDir: unpacked, silent: true })
  files = (await readdir(unpacked, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
}, 240_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

const manifest = async () =>
  MANIFEST_SCHEMAS['0.3'].parse(JSON.parse(await readFile(join(unpacked, 'manifest.json'), 'utf8')))

/** What a client starts if the user has entered these values and no others. */
async function configured(answers: Record<string, string>) {
  const config = await getMcpConfigForManifest({
    manifest: await manifest(),
    extensionPath: unpacked,
    systemDirs: { HOME: join(folder, 'home') },
    userConfig: answers,
    pathSeparator: sep,
  })
  expect(config?.command).toBe('node')
  return { args: config?.args ?? [], env: { PATH: '', HOME: join(folder, 'home'), ...config?.env } }
}

async function started(answers: Record<string, string>) {
  const { args, env } = await configured(answers)
  return { env, server: new LineServer({ name: 'farebox', program: process.execPath, args, env }) }
}

const textOf = (answer: unknown): string =>
  (answer as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('\n')

test('its manifest is valid, and everything that it names is there', async () => {
  expect(validateManifest(join(unpacked, 'manifest.json'))).toBe(true)
  const { manifest_version, server, icon = '' } = await manifest()
  expect(manifest_version).toBe('0.3')
  expect(files).toEqual(expect.arrayContaining([server.entry_point, icon, 'docs/privacy.md', 'LICENSE']))
})

test('beside the keychain it carries no file that is for one kind of machine, and nothing of this one', async () => {
  expect(files.length).toBeGreaterThan(100)
  const native = files.filter(path => /\.(node|so|dylib|dll|exe|a|wasm)(\.\d+)*$|\.map$|\.ts$|\.test\./.test(path))
  expect(native).toEqual(
    machines.map(machine => join('node_modules/@napi-rs', `keyring-${machine}`, `keyring.${machine}.node`)),
  )
  const packages = (await readdir(join(unpacked, 'node_modules'))).filter(name => !name.startsWith('.'))
  expect(packages.sort()).toEqual(['@napi-rs', 'zod'])
  for (const path of files.filter(each => each.startsWith(`dist${sep}`))) {
    const text = await readFile(join(unpacked, path), 'utf8')
    expect(text.includes(root) || text.includes(folder), path).toBe(false)
  }
})

test('the addons are those of the lock file for each kind of machine that assistants run on', async () => {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, object>
  }
  for (const machine of everyMachine)
    expect(lock.packages[`node_modules/@napi-rs/keyring-${machine}`]).toMatchObject({ integrity: expect.any(String) })
  for (const system of ['darwin', 'linux', 'win32'])
    for (const processor of ['arm64', 'x64'])
      expect(everyMachine.some(machine => machine.startsWith(`${system}-${processor}`))).toBe(true)
})

test('its code finds the keychain, with Node alone', () => {
  const script = `import(${JSON.stringify(join(unpacked, 'probe.mjs'))})`
  writeFileSync(
    join(unpacked, 'probe.mjs'),
    "const { AsyncEntry } = await import('@napi-rs/keyring'); console.log(typeof AsyncEntry, import.meta.resolve('@napi-rs/keyring'))",
  )
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { env: { PATH: '' }, encoding: 'utf8' })
  expect([stderr, stdout]).toEqual(['', expect.stringContaining(`function file://${unpacked}`)])
})

test('a wallet is made in the conversation and pays, without a clone and without a terminal', async () => {
  const up = await spawnUp()
  try {
    const { args, env } = await configured({ base_url: up.baseUrl, wallet_folder: join(up.folder, 'assistant') })
    const entry = { command: process.execPath, args, env: { ...env, PATH: '' } }
    const client = await assistant(entry, { elicitation: { url: {}, form: {} } }, async ({ url = '' }) => {
      const { read, press } = await browser(url)
      expect(await press(await read(), { first: 'allow' })).toContain('It holds 10.00 USDC')
      return { action: 'accept' }
    })
    const chat = { model: 'demo-chat', prompt: 'Say hello', max_tokens: 20 }
    const result = await client.callTool({ name: 'chat', arguments: chat })
    expect(result).toMatchObject({ structuredContent: { charged_usd: expect.any(Number) } })
    expect(result.isError).not.toBe(true)
    await client.close()
  } finally {
    await up.dispose()
  }
}, 120_000)

test('with an address alone it starts, lists what its manifest lists, and serves what is free without a route', async () => {
  const { env, server } = await started({ base_url: 'http://127.0.0.1:9/api/v1' })
  // Unanswered settings arrive as they are in the manifest.
  expect(Object.values(env).filter(value => value.includes('user_config')).length).toBeGreaterThan(3)
  try {
    await server.initialize()
    const { tools } = (await server.call('tools/list', {})) as { tools: { name: string; description: string }[] }
    const { prompts } = (await server.call('prompts/list', {})) as { prompts: { name: string; description: string }[] }
    const told = await manifest()
    expect(tools.map(({ name, description }) => ({ name, description }))).toEqual(told.tools)
    expect(prompts.map(({ name }) => name)).toEqual(told.prompts?.map(({ name }) => name))

    const status = await server.call('tools/call', { name: 'wallet_status', arguments: {} })
    expect(status).toMatchObject({
      structuredContent: { pays: 'nothing', service: expect.stringContaining('127.0.0.1:9') },
    })
    const receipts = await server.call('tools/call', { name: 'wallet_receipts', arguments: {} })
    expect(receipts).not.toMatchObject({ isError: true })
    const chat = await server.call('tools/call', { name: 'chat', arguments: { model: 'm', prompt: 'x' } })
    expect([chat, textOf(chat)]).toEqual([
      expect.objectContaining({ isError: true }),
      expect.stringMatching(/settings of this extension .* "API key", or "Wallet key"/),
    ])
  } finally {
    await server.end()
  }
}, 60_000)

test('it works with the settings that the user entered', async () => {
  const data = join(folder, 'wallet')
  const { server } = await started({
    base_url: 'http://127.0.0.1:9/api/v1',
    wallet_key: '1'.repeat(64),
    wallet_folder: data,
    max_day_usd: '7.5',
  })
  try {
    await server.initialize()
    const status = await server.call('tools/call', { name: 'wallet_status', arguments: {} })
    expect(status).toMatchObject({ structuredContent: { pays: 'wallet', caps_usd: { per_day: 7.5, total: 20 } } })
    expect(await readdir(data)).not.toEqual([])
  } finally {
    await server.end()
  }
}, 60_000)

test('without the address that it needs it is not started at all', async () => {
  const config = getMcpConfigForManifest({
    manifest: await manifest(),
    extensionPath: unpacked,
    systemDirs: {},
    userConfig: {},
    pathSeparator: sep,
  })
  expect(await config).toBeUndefined()
})
