/** What a new user sees who installs the packed tarball and starts its server without a wallet or a key. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pack } from '../../bench/kit/install.ts'
import { LineServer } from '../../bench/mcp/line-server.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { samples } from '../mcp/samples.ts'
import { copyBuiltPackage } from './built-package.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string
let service: Awaited<ReturnType<typeof pretendService>>
let server: LineServer

const free = ['job_list', 'models_find', 'wallet_receipts', 'wallet_status']

/** By hand, because not every machine has the program. npm writes plain files, with paths in two fields. */
async function unpack(tarball: string, to: string): Promise<void> {
  const bytes = gunzipSync(await readFile(tarball))
  let at = 0
  const field = (from: number, length: number) =>
    bytes.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '')
  while (field(0, 100) !== '') {
    const name = [field(345, 155), field(0, 100)].filter(Boolean).join('/')
    const size = Number.parseInt(field(124, 12), 8)
    expect([name, field(156, 1)]).toEqual([name, '0'])
    await mkdir(dirname(join(to, name)), { recursive: true })
    await writeFile(join(to, name), bytes.subarray(at + blockBytes, at + blockBytes + size))
    at += blockBytes * (1 + Math.ceil(size / blockBytes))
  }
}

const blockBytes = 512

/** The tarball as npm makes it, where npm would put it, beside its one dependency. */
async function installTarball(): Promise<string> {
  const source = join(folder, 'source')
  await cp(join(root, 'bin'), join(source, 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(source, 'package.json'))
  await copyBuiltPackage(join(source, 'dist'))
  const { path } = await pack(source, folder)
  const modules = join(folder, 'installed/node_modules')
  await mkdir(modules, { recursive: true })
  await unpack(path, modules)
  await rename(join(modules, 'package'), join(modules, 'farebox'))
  await symlink(join(root, 'node_modules/zod'), join(modules, 'zod'), 'dir')
  return join(modules, 'farebox/bin/farebox.mjs')
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-tarball-'))
  service = await pretendService()
  const launcher = await installTarball()
  const env = { PATH: '', HOME: folder, FAREBOX_BASE_URL: service.baseUrl }
  server = new LineServer({ name: 'farebox', program: process.execPath, args: [launcher, 'mcp'], env })
  await server.initialize()
}, 240_000)

afterAll(async () => {
  await server?.end()
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Answer {
  isError?: boolean
  content: { text?: string }[]
}

const call = async (name: string) =>
  (await server.call('tools/call', { name, arguments: samples[name] ?? {} })) as Answer

test.each(free)(
  '%s works',
  async name => {
    expect(await call(name)).not.toMatchObject({ isError: true })
  },
  60_000,
)

test.each(['chat', 'limits', 'video_create', 'estimate', 'wallet_top_up'])(
  '%s says what is missing, and the one command that mends it',
  async name => {
    const { isError, content } = await call(name)
    const text = content.map(part => part.text).join('\n')
    const commands = [...text.matchAll(/`([^`]*farebox[^`]*)`/g)].map(([, command]) => command)
    expect([isError, commands]).toEqual([true, [expect.stringMatching(/ wallet create --service http:\S+$/)]])
    // As a user types it, in a shell that has neither Node nor farebox in its PATH.
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `${commands[0]} --help`], { env: { PATH: '' } })
    expect(stdout).toContain('Usage: farebox wallet create')
  },
  60_000,
)

test('nothing was bought, and nothing was asked for that costs', () => {
  expect(service.seen.filter(({ method }) => method === 'POST')).toEqual([])
})
