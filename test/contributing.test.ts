/** The changes of docs/contributing/ fit the sources as they are, pass the compiler and do what their pages say. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'farebox-contributing-'))

const diffOf = (page: string): string =>
  /```diff\n([\s\S]*?\n)```/.exec(readFileSync(join(root, 'docs', 'contributing', `${page}.md`), 'utf8'))?.[1] ?? ''

/** Files that a diff changes, and lines that it adds to those which are there before. */
function sizeOf(diff: string) {
  const files = diff.split(/^diff --git .*\n/m).slice(1)
  const isNew = (file: string) => file.startsWith('new file')
  const linesAdded = files.filter(file => !isNew(file)).flatMap(file => file.match(/^\+(?!\+\+ ).+/gm) ?? []).length
  return { files: files.length, newFiles: files.filter(isNew).length, linesAdded }
}

beforeAll(() => {
  const folders = ['src', 'tools', 'prompts', 'resources', 'pages', 'scripts', 'bench', 'docs']
  for (const name of [...folders, 'package.json', 'tsconfig.json', 'openapi.yaml'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

test.each([
  { page: 'network', size: { files: 1, newFiles: 0, linesAdded: 1 } },
  { page: 'rail', size: { files: 2, newFiles: 1, linesAdded: 2 } },
  { page: 'engine', size: { files: 2, newFiles: 1 } },
  { page: 'tool', size: { files: 1, newFiles: 1, linesAdded: 0 } },
  { page: 'operation', size: { files: 3, newFiles: 0 } },
])(
  'the change of docs/contributing for a new $page has the size that it promises, and applies',
  async ({ page, size }) => {
    const diff = diffOf(page)
    expect(sizeOf(diff)).toMatchObject(size)
    const file = join(copy, `${page}.diff`)
    writeFileSync(file, diff)
    await run('git', ['apply', '--unidiff-zero', file], { cwd: copy, env: { ...process.env, GIT_DIR: copy } })
  },
)

test('all of them together pass the compiler', async () => {
  const settings = { extends: './tsconfig.json', compilerOptions: { incremental: false } }
  const file = join(copy, 'tsconfig.products.json')
  writeFileSync(file, JSON.stringify({ ...settings, include: ['src', 'tools', 'prompts', 'resources'] }))
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = await run(tsc, ['-p', file], { cwd: copy }).catch(error => error as { stdout: string })
  expect(stdout).toBe('')
}, 240_000)

const program = `
import { chainName } from '#contract/wire/networks.ts'
import { operations } from '#contract/operations/operations.ts'
import { decodePayment, payerOf } from '#payments/rails/rails.ts'
import { engineKinds } from '#service/config/model-config.ts'
import { routes } from '#service/capabilities/routes.ts'
import { tools } from '#tools/table.generated.ts'
import { readPolicy } from '#wallet/rules/policy.ts'

const network = 'eip155:42161'
const option = { scheme: 'exact', network: 'voucher:shop', amount: '5000000', asset: 'usd', payTo: 'shop', maxTimeoutSeconds: 60 }
const received = { scheme: 'exact', network: 'voucher:shop', accepted: null, payload: { code: 'abcdefghij0123456789' } }
const zero = engineKinds.find(({ name }) => name === 'zero').engines.embedding({ dimensions: 3 })
const tool = await tools.models_count()
process.stdout.write(JSON.stringify({
  network: chainName(network),
  wallet: readPolicy({ serviceUrl: 'https://x.example' }).rails.some(rail => rail.network === network),
  payer: payerOf(decodePayment(received, [option])),
  engine: (await zero.embed({ input: 'hi' })).vectors,
  tool: tool.say({ models: 3 }),
  operation: operations.some(({ id }) => id === 'countModels'),
  route: routes.some(({ operation }) => operation.id === 'countModels'),
}))
`

test('what they add is there, after the generator has run', async () => {
  await run(process.execPath, ['scripts/generate.ts'], { cwd: copy })
  writeFileSync(join(copy, 'src', 'program.ts'), program)
  const { stdout } = await run(process.execPath, ['src/program.ts'], { cwd: copy })
  expect(JSON.parse(stdout)).toEqual({
    network: 'Arbitrum',
    wallet: true,
    payer: 'voucher:abcdefghij0123456789',
    engine: [[0, 0, 0]],
    tool: 'The service has 3 models.',
    operation: true,
    route: true,
  })
  expect(readFileSync(join(copy, 'openapi.yaml'), 'utf8')).toContain('/farebox/models/count:')
}, 120_000)
