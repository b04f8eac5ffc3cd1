import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyBuiltPackage } from '../build/built-package.ts'
import { launcher } from '../build/built-product.ts'
import { farebox, type SpawnedUp, spawnUp } from '../journeys/spawned-up.ts'

const root = join(import.meta.dirname, '..', '..')
/** What the examples import beside farebox, as a user's project has it. */
const packages = ['zod', 'openai', 'ai', '@ai-sdk', '@langchain', '@mastra']

let up: SpawnedUp
let folder: string
let environment: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-examples-'))
  const installed = join(folder, 'node_modules/farebox')
  await mkdir(installed, { recursive: true })
  await Promise.all([
    copyBuiltPackage(join(installed, 'dist')),
    cp(join(root, 'package.json'), join(installed, 'package.json')),
    cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true }),
    ...packages
      .filter(name => existsSync(join(root, 'node_modules', name)))
      .map(name => symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir')),
  ])
  up = await spawnUp()
  const { stdout } = await farebox('local', 'env', '--data', up.folder)
  const settings = [...stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])
  environment = { PATH: process.env.PATH ?? '', HOME: folder, ...Object.fromEntries(settings) }
}, 300_000)

afterAll(async () => {
  await up?.dispose()
  await rm(folder, { recursive: true, force: true })
}, 60_000)

async function run(program: string, args: readonly string[], env = environment, cwd = folder): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { cwd, env })
  return stdout
}

test('in a clone, an example runs without a build', async () => {
  const clone = await mkdtemp(join(tmpdir(), 'farebox-clone-'))
  try {
    for (const name of ['src', 'tools', 'prompts', 'resources', 'pages', 'package.json', 'node_modules'])
      await symlink(join(root, name), join(clone, name))
    await cp(join(root, 'examples'), join(clone, 'examples'), { recursive: true })
    const [, command = ''] =
      /npx node (.*openai-client.mjs)/.exec(await readFile(join(root, 'examples/README.md'), 'utf8')) ?? []
    expect(await run(process.execPath, command.split(' '), environment, clone)).toContain('This is demo-chat')
  } finally {
    await rm(clone, { recursive: true, force: true })
  }
}, 60_000)

test('each example is here, and has a test', async () => {
  const names = await readdir(join(root, 'examples'))
  expect(names.filter(name => name !== 'README.md').toSorted()).toEqual([
    'ai-sdk.mjs',
    'autonomous-agent.mjs',
    'curl.sh',
    'farebox.yaml',
    'langchain.mjs',
    'mastra.mjs',
    'monitoring',
    'openai-client.mjs',
  ])
})

test('OpenAI’s client streams an answer that the wallet pays', async () => {
  expect(await run(process.execPath, ['examples/openai-client.mjs'])).toMatch(
    /This is demo-chat.*\nCredit left: 4\.99\d+ USD\n$/s,
  )
}, 60_000)

test('the AI SDK gets an answer that the wallet pays', async () => {
  expect(await run(process.execPath, ['examples/ai-sdk.mjs'])).toContain('This is demo-chat')
}, 60_000)

test.for(['langchain', 'mastra'])(
  'a model of the wallet’s answers through %s',
  { timeout: 60_000, tags: ['frameworks'] },
  async name => {
    expect(await run(process.execPath, [`examples/${name}.mjs`])).toContain('This is demo-chat')
  },
)

test('an unattended program buys a video within its caps, and is about a screen long', async () => {
  const said = await run(process.execPath, ['examples/autonomous-agent.mjs'])
  expect(said).toMatch(/costs 0\.\d+ USD; paid so far: [05] of 20 USD\.\ncompleted .*\.mp4\n$/)
  const file = /completed (.*\.mp4)/.exec(said)?.[1] ?? ''
  expect((await readFile(file)).subarray(4, 8).toString()).toBe('ftyp')
  const lines = (await readFile(join(root, 'examples/autonomous-agent.mjs'), 'utf8')).split('\n')
  expect(lines.length).toBeLessThanOrEqual(40)
}, 120_000)

test('curl gets an answer through the proxy', { timeout: 60_000, tags: ['curl'] }, async () => {
  const child = spawn(process.execPath, [launcher, 'proxy', '--port', '0', '--json'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const { url, token } = JSON.parse(await firstLine(child))
    const said = await run('sh', ['examples/curl.sh'], {
      ...environment,
      OPENAI_BASE_URL: url,
      OPENAI_API_KEY: token,
    })
    expect(JSON.parse(said).choices[0].message.content).toContain('This is demo-chat')
  } finally {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  }
})

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('Its output is not piped.')
  for await (const line of createInterface({ input: stdout })) return line
  throw new Error('It said nothing.')
}
