import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { type RequestOptions, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { OutputChunk } from 'rolldown'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { version } from '#contract/version.generated.ts'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { LineServer } from '../../bench/mcp/line-server.ts'
import { buildPackage } from '../../scripts/build/build-package.ts'
import { packageEntries, threads } from '../../scripts/build/entries.ts'
import { freePort } from '../postgres/cluster.ts'
import { typedPrograms } from './typed-programs.ts'
import { packagesOf, readBy } from './what-is-read.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string
let installed: string
let chunks: OutputChunk[]

/** The package as npm unpacks it, beside the one dependency that it has. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-package-'))
  installed = join(folder, 'node_modules/farebox')
  await mkdir(installed, { recursive: true })
  await mkdir(join(installed, 'dist'))
  await writeFile(join(installed, 'dist/of-before.js'), '')
  chunks = await buildPackage(root, join(installed, 'dist'))
  await cp(join(root, 'bin'), join(installed, 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(installed, 'package.json'))
  await symlink(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'), 'dir')
  // Only programs in TypeScript that use the package read these.
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true })
  await symlink(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'), 'dir')
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
}, 240_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

test('it replaces the old folder completely, and leaves nothing beside it', async () => {
  expect(await readdir(join(installed, 'dist'))).not.toContain('of-before.js')
  expect((await readdir(installed)).sort()).toEqual(['bin', 'dist', 'package.json'])
})

test('on a Node that is too old, each entry point says so in a sentence before anything of it runs', async () => {
  const old = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`
  for (const name of ['farebox', 'farebox/contract', 'farebox/toolkit', 'farebox/service']) {
    const program = `${old}; await import('${name}').catch(({ message }) => console.log(message))`
    const options = { cwd: folder, env: environment() }
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options)
    expect(stdout).toMatch(/^farebox needs Node 24.7 or newer, .+, but this is Node 20.20.2. Install it from \S+\n$/)
  }
  // Modules that it lacks would stop it before a line has run.
  for (const { name, text } of await bundles()) expect(text.includes('from"node:sqlite"'), name).toBe(false)
}, 60_000)

const launcher = () => join(installed, 'bin/farebox.mjs')
const environment = () => ({ PATH: process.env.PATH, HOME: folder, FAREBOX_DATA: join(folder, 'data') })

const bundles = async () => {
  const names = (await readdir(join(installed, 'dist'))).filter(name => name.endsWith('.js'))
  return Promise.all(names.map(async name => ({ name, text: await readFile(join(installed, 'dist', name), 'utf8') })))
}

test('it tells its version', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [launcher(), '--version'], { env: environment() })
  expect(stdout).toBe(`${version}\n`)
})

test('its MCP server lists its tools and checks what they are called with', async () => {
  const server = new LineServer({
    name: 'farebox',
    program: process.execPath,
    args: [launcher(), 'mcp'],
    env: environment(),
  })
  try {
    expect(await server.initialize()).toMatchObject({ serverInfo: { name: 'farebox', version } })
    const { tools } = (await server.call('tools/list', {})) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toContain('video_create')
    // Our own zod says no, in our words, inside a server whose protocol is checked by another copy of zod.
    const refused = await server.call('tools/call', {
      name: 'video_create',
      arguments: { model: 'm', duration: 'long' },
    })
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^Invalid arguments for video_create: .*duration/) }],
    })
    await expect(server.call('tools/call', { name: 7 })).rejects.toThrow(/refused/)
  } finally {
    await server.end()
  }
})

test('its MCP server lists its tools before a file of zod is read, which would be a third of its start', async () => {
  const refusing = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  if (/\\/(dist\\/zod\\.js$|node_modules\\/zod\\/)/.test(url)) throw new Error('zod is loaded')
  return next(url, context)
} })`
  const hook = `data:text/javascript,${encodeURIComponent(refusing)}`
  const server = new LineServer({
    name: 'farebox',
    program: process.execPath,
    args: ['--import', hook, launcher(), 'mcp'],
    env: environment(),
  })
  try {
    await server.initialize()
    const { tools } = (await server.call('tools/list', {})) as { tools: unknown[] }
    expect(tools.length).toBeGreaterThan(0)
    // The hook is at work: a tool needs its schemas.
    const called = await server.call('tools/call', { name: 'limits', arguments: {} })
    expect(called).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/Internal error/) }] })
  } finally {
    await server.end()
  }
})

/** Of a service with one model, whose data are in a folder of this name. */
async function writeConfig(name: string): Promise<string> {
  const config = join(folder, `${name}.yaml`)
  const upstreams = [{ engine: 'openai', baseUrl: 'http://127.0.0.1:9/v1', model: 'm' }]
  const price = { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
  const models = [{ id: 'm', type: 'text', contextTokens: 1_024, maximumCompletionTokens: 64, price, upstreams }]
  const listen = `127.0.0.1:${await freePort()}`
  await writeFile(config, JSON.stringify({ publicUrl: `http://${listen}`, listen, data: join(folder, name), models }))
  return config
}

/** Runs `serve`, after a program that hooks into Node, and stops it when the work is done. */
async function whileServing(config: string, hook: string, work: (next: () => Promise<string>) => Promise<void>) {
  const first = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  const serving = spawn(process.execPath, [...first, launcher(), 'serve', '--config', config], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(serving.stdout)[Symbol.asyncIterator]()
  try {
    await work(async () => String((await lines.next()).value).split(' ')[0] ?? '')
  } finally {
    serving.kill('SIGTERM')
    await once(serving, 'exit')
  }
}

test('serve is ready before the tokenizer’s tables are loaded, and loads them before the first request', async () => {
  const config = await writeConfig('served')
  const telling = `import { registerHooks } from 'node:module'
import { writeSync } from 'node:fs'
registerHooks({ load(url, context, next) {
  if (/tokenizer\\.js$/.test(url)) writeSync(1, 'tables\\n')
  return next(url, context)
} })`
  await whileServing(config, telling, async next => {
    expect([await next(), await next()]).toEqual(['ready', 'tables'])
  })
})

test('serve answers without Node’s own `fetch`, which is loaded when a page needs it', async () => {
  const config = await writeConfig('without-fetch')
  const { publicUrl } = JSON.parse(await readFile(config, 'utf8')) as { publicUrl: string }
  const telling = `import { writeSync } from 'node:fs'
const looking = setInterval(() => {
  if (!process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')) return
  clearInterval(looking)
  writeSync(1, 'fetch\\n')
}, 1).unref()`
  const statusOf = async (path: string, options: RequestOptions = {}) => {
    const [answer] = await once(request(`${publicUrl}${path}`, options).end(), 'response')
    return answer.resume().statusCode
  }
  await whileServing(config, telling, async next => {
    expect(await next()).toBe('ready')
    const afterwards = next()
    expect(await statusOf('/api/v1/models')).toBe(200)
    expect(await statusOf('/api/v1/nothing')).toBe(404)
    expect(await Promise.race([afterwards, statusOf('/healthz')])).toBe(200)
    // What is a web request or answer after all is one of Node's own.
    expect(await statusOf('/api/v1/models', { method: 'HEAD' })).toBe(200)
    expect(await statusOf('/api/v1/models', { headers: { host: 'a b' } })).toBe(400)
    expect(await statusOf('/account/api/session', { method: 'POST' })).toBeLessThan(500)
    expect(await statusOf('/account')).toBe(200)
    expect(await afterwards).toBe('fetch')
  })
}, 60_000)

test('serve answers operators on its bundled thread', async () => {
  const config = await writeConfig('asked')
  const farebox = (...args: string[]) =>
    promisify(execFile)(process.execPath, [launcher(), ...args, '--data', join(folder, 'asked')], {
      env: environment(),
    })
  await whileServing(config, '', async next => {
    await next()
    await farebox('customers', 'create', 'Ada')
    expect((await farebox('customers', 'list')).stdout).toContain('Ada')
  })
}, 60_000)

test('what tasks are made of is not read before a client declares them', async () => {
  const sentence = 'The task has expired'
  expect((await bundles()).filter(({ text }) => text.includes(sentence)).length).toBe(1)
  const refusing = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (String(loaded.source).includes('${sentence}')) throw new Error('tasks are loaded')
  return loaded
} })`
  const server = new LineServer({
    name: 'farebox',
    program: process.execPath,
    args: ['--import', `data:text/javascript,${encodeURIComponent(refusing)}`, launcher(), 'mcp'],
    env: environment(),
  })
  try {
    await server.initialize()
    const called = await server.call('tools/call', { name: 'wallet_receipts', arguments: {} })
    expect(called).toMatchObject({ structuredContent: { receipts: [] } })
  } finally {
    await server.end()
  }
})

test.each(['agent', 'contract', 'toolkit', 'service'])('its entry point %s opens', async entry => {
  const name = entry === 'agent' ? 'farebox' : `farebox/${entry}`
  const program = `const entry = await import('${name}'); console.log(Object.keys(entry).length)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    env: environment(),
  })
  expect(Number(stdout)).toBeGreaterThan(0)
})

test('its service recovers signers by the WebAssembly beside it, and without that file by JavaScript', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const refusing = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (String(loaded.source).includes('recovery id invalid')) console.log('JavaScript')
  return loaded
} })`
  const header = async () => {
    const issuedAt = new Date().toISOString()
    const names = { domain: 'api.example', uri: 'https://api.example', version: '1', chainId: 'eip155:8453' } as const
    const fields = { ...names, address: account.address, nonce: randomBytes(8).toString('hex'), issuedAt }
    const signature = await account.signMessage({ message: writeSignInMessage(fields) })
    return writeSignInHeader({ fields, signature }, 'message')
  }
  const signedIn = async () => {
    const program = `import { openService } from 'farebox/service'
const secrets = ['a secret of a test, which guards nothing']
const folder = '${join(folder, 'service')}'
const service = await openService({ publicUrl: 'https://api.example', folder, secrets, models: [] })
const headers = { 'sign-in-with-x': '${await header()}' }
const url = 'https://api.example/api/v1/x402/balance/${account.address}'
const answer = await service.fetch(new Request(url, { headers }))
console.log(answer.status)
await service.close()`
    const hook = `data:text/javascript,${encodeURIComponent(refusing)}`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', hook, '--input-type=module', '-e', program],
      { cwd: folder, env: environment() },
    )
    return stdout.trim().split('\n')
  }
  expect(await signedIn()).toEqual(['200'])
  const [file, away] = [join(installed, 'dist/secp256k1.wasm'), join(folder, 'away.wasm')]
  await rename(file, away)
  try {
    expect(await signedIn()).toEqual(['JavaScript', '200'])
  } finally {
    await rename(away, file)
  }
}, 60_000)

test('a schema of an entry point and one of the user are of the same zod', async () => {
  const program = `import { z } from 'zod'
import { Usd } from 'farebox/toolkit'
const priced = z.object({ cost: Usd })
const isOurs = Object.getPrototypeOf(Usd) === z.ZodNullable.prototype
console.log(isOurs, priced.safeParse({ cost: 7 }).success, priced.safeParse({ cost: '7' }).success)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    env: environment(),
  })
  expect(stdout).toBe('true true false\n')
})

test('its declarations depend only on zod and Node', async () => {
  const program = ['farebox', 'farebox/contract', 'farebox/toolkit', 'farebox/service']
    .map((entry, index) => `export * as entry${index} from '${entry}'`)
    .join('\n')
  expect(await complaintsAbout({ user: program })).toBe('')
}, 60_000)

test('right programs of each entry point compile, and wrong ones do not', async () => {
  expect(await complaintsAbout(typedPrograms)).toBe('')
}, 60_000)

/** What the compiler says of programs that import the package, by their names. */
async function complaintsAbout(programs: Readonly<Record<string, string>>): Promise<string> {
  const files = Object.keys(programs).map(name => `${name}.ts`)
  for (const [name, text] of Object.entries(programs)) await writeFile(join(folder, `${name}.ts`), text)
  const options = { module: 'nodenext', target: 'es2024', lib: ['es2024'], types: ['node'], strict: true, noEmit: true }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [tsc], { cwd: folder }).catch(error => error)
  return stdout
}

test('nothing of this machine, no test and no source map is in it', async () => {
  const args = ['pack', '--ignore-scripts', '--dry-run', '--json']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: installed })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  expect(paths).toContain('dist/cli.js')
  expect(paths.filter(path => !/^(bin|dist)\/|^(package\.json|LICENSE|README\.md)$/.test(path))).toEqual([])
  expect(paths.filter(path => /\.map$|\.test\.|\.ts$/.test(path) && !path.endsWith('.d.ts'))).toEqual([])
  for (const { name, text } of await bundles()) {
    expect(text.includes(root) || text.includes(folder), `${name} tells a path of this machine`).toBe(false)
  }
})

test('every package in the bundle is named with its licence', async () => {
  const notice = await readFile(join(installed, 'dist/THIRD-PARTY.txt'), 'utf8')
  for (const name of ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod', 'viem', 'hono', 'undici']) {
    expect(notice).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'))
  }
})

test('its bill of materials has every package of the bundle, with the hash of the lock file', async () => {
  const notice = await readFile(join(installed, 'dist/THIRD-PARTY.txt'), 'utf8')
  const { components, metadata } = JSON.parse(await readFile(join(installed, 'dist/sbom.cdx.json'), 'utf8')) as {
    components: { name: string; version: string; purl: string; hashes: { content: string }[] }[]
    metadata: { component: { purl: string } }
  }
  expect(metadata.component.purl).toBe(`pkg:npm/farebox@${version}`)
  const noted = [...notice.matchAll(/^-{80}\n\n(\S+) (\S+) \(/gm)].map(([, name, of]) => `${name} ${of}`)
  const listed = components.map(each => `${each.name} ${each.version}`)
  expect(noted.length).toBeGreaterThan(20)
  expect(listed).toEqual(expect.arrayContaining(noted))
  for (const { purl, hashes } of components) {
    expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/)
    expect(hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/)
  }
})

interface Way {
  source: string
  /** Files, itself included. */
  files: number
  packages: string[]
}

const chains = ['@noble/curves', '@noble/hashes', '@scure/base', '@scure/bip32', '@scure/bip39', 'abitype', 'ox']
const http = ['@hono/node-server', 'hono']
const sdk = ['@modelcontextprotocol/core', '@modelcontextprotocol/server']

/** An entry point that reads the MCP SDK, or a command that reads a chain's, would make every user of it wait. */
const ways: [what: string, way: Way][] = [
  ['farebox', { source: 'src/cli/main.ts', files: 6, packages: [] }],
  ['farebox mcp', { source: 'src/cli/commands/mcp.ts', files: 8, packages: [...sdk, 'zod'] }],
  ['farebox call', { source: 'src/cli/commands/call.ts', files: 16, packages: [] }],
  ['farebox wallet', { source: 'src/cli/commands/wallet.ts', files: 20, packages: [] }],
  ['farebox serve', { source: 'src/cli/commands/serve.ts', files: 14, packages: [...http, 'kysely', 'yaml'] }],
  [
    'farebox up',
    { source: 'src/cli/commands/up.ts', files: 14, packages: [...http, ...chains, 'kysely', 'viem'].sort() },
  ],
  ['the entry agent', { source: packageEntries.agent, files: 80, packages: ['is-network-error', 'p-retry'] }],
  ['the entry contract', { source: packageEntries.contract, files: 45, packages: [] }],
  ['the entry toolkit', { source: packageEntries.toolkit, files: 15, packages: [] }],
  ['the entry service', { source: packageEntries.service, files: 12, packages: [] }],
  ['the writer of books', { source: threads['sqlite-writer-thread'], files: 1, packages: [] }],
]

test.each(ways)('%s loads only what it needs at startup, and no other package', (_, { source, files, packages }) => {
  const read = readBy(chunks, source)
  expect(packagesOf(read)).toEqual(packages)
  expect(read.length).toBeLessThanOrEqual(files)
})

test('a name in a stack trace is the one in the source', () => {
  const code = chunks.map(each => each.code).join('\n')
  for (const name of ['WalletRefusal=class extends Error', 'function readSettings(', 'function chooseTools(']) {
    expect([name, code.includes(name)]).toEqual([name, true])
  }
})
