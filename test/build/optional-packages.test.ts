/** The package with and without the packages that the demonstration needs. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyBuiltPackage } from './built-package.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string
let modules: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-demo-'))
  modules = join(folder, 'node_modules')
  const installed = join(modules, 'farebox')
  await mkdir(installed, { recursive: true })
  await copyBuiltPackage(join(installed, 'dist'))
  await cp(join(root, 'bin'), join(installed, 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(installed, 'package.json'))
  await put('zod')
}, 240_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

async function put(name: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true })
  await symlink(join(root, 'node_modules', name), join(modules, name), 'dir')
}

const up = () =>
  promisify(execFile)(
    process.execPath,
    [join(modules, 'farebox/bin/farebox.mjs'), 'up', '--once', '--port', '0', '--no-local-models'],
    { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } },
  )

test('`up` names at once every package that it needs and does not have', async () => {
  expect(await up().catch(({ code, stderr }) => ({ code, stderr }))).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /up` needs @foundry-rs\/anvil and node-av, which are not installed\. Run `npm install --ignore-scripts @foundry-rs\/anvil node-av litesvm sharp`, then start it again\.\n$/,
    ),
  })
}, 60_000)

test('with the packages that the documents name beside it, `up` runs the demo', async () => {
  const page = await readFile(join(root, 'docs/operations/install.md'), 'utf8')
  const [, named = ''] = /npm install --ignore-scripts \.\/farebox-[\d.]+\.tgz (.+)/.exec(page) ?? []
  for (const name of named.split(' ')) await put(name)
  const { stdout, stderr } = await up()
  expect(stdout).toMatch(/^✓ chat .*USD.*paid/m)
  expect(stdout).toMatch(/The demo is done\.\n$/)
  expect(stdout).not.toContain('litesvm')
  expect(stderr).toBe('')
}, 120_000)
