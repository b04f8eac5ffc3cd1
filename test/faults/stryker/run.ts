/**
 * Stryker over the rooms that handle money: it changes every expression there, one at a time, and looks whether the tests
 * of that room notice. It is installed into a temporary folder for the run, because it brings more packages than
 * everything else here together.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root, TreeCopy } from '../mutants/tree-copy.ts'
import { printScore, type StrykerReport } from './score.ts'

/** A room, the tests that have to notice, and what of it Stryker cannot judge. */
const rooms: Record<string, { tests: readonly string[]; mutate: readonly string[] }> = {
  pricing: { mutate: ['src/service/pricing/**/*.ts'], tests: ['test/service/pricing/**/*.test.ts'] },
  ledger: {
    mutate: ['src/service/ledger/**/*.ts'],
    tests: [
      'test/service/ledger/**/*.test.ts',
      'test/service/recovery.test.ts',
      'test/service/clock-jump.test.ts',
      'test/service/chat-*.test.ts',
    ],
  },
  payments: { mutate: ['src/service/payments/**/*.ts'], tests: ['test/service/payments/**/*.test.ts'] },
}

const packages = ['@stryker-mutator/core@10.1.1', '@stryker-mutator/vitest-runner@10.1.1']

const usage = `Usage: npm run faults:stryker -- [${Object.keys(rooms).join('|')}] [--only GLOB] [--at-once N]

  --only GLOB    only these files of the room
  --at-once N    processes side by side (2)
  --keep         leave the folder, with the report as a page`

async function main(room: string, only: string | undefined, atOnce: number, keep: boolean): Promise<number> {
  const chosen = rooms[room]
  if (!chosen) throw new Error(usage)
  const tree = await TreeCopy.make()
  const tools = await mkdtemp(join(tmpdir(), 'farebox-stryker-'))
  try {
    await install(tools)
    await configure(tree.folder, tools, only ? [only] : chosen.mutate, chosen.tests, atOnce)
    const stryker = join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js')
    const code = await run(process.execPath, [stryker, 'run', 'stryker.config.json'], tree.folder)
    const report = await readFile(join(tree.folder, 'stryker.json'), 'utf8').catch(() => null)
    if (report === null) return code || 1
    printScore(JSON.parse(report) as StrykerReport, room)
    return code
  } finally {
    if (keep) process.stdout.write(`Kept: ${tree.folder} and ${tools}\n`)
    else await Promise.all([tree.remove(), rm(tools, { recursive: true, force: true })])
  }
}

async function install(tools: string): Promise<void> {
  await writeFile(join(tools, 'package.json'), '{"private":true}')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--loglevel', 'error']
  const code = await run('npm', ['install', ...flags, ...packages], tools)
  if (code !== 0) throw new Error('Stryker could not be installed.')
  // The very vitest that the tests import: a second copy of it would know nothing of them.
  await mkdir(join(tools, 'node_modules'), { recursive: true })
  await symlink(join(root, 'node_modules/vitest'), join(tools, 'node_modules/vitest'))
}

async function configure(
  tree: string,
  tools: string,
  mutate: readonly string[],
  tests: readonly string[],
  atOnce: number,
): Promise<void> {
  const vitest = `import { defineConfig } from 'vitest/config'
export default defineConfig({ test: { include: ${JSON.stringify(tests)}, testTimeout: 60_000, hookTimeout: 60_000 } })
`
  await writeFile(join(tree, 'stryker.vitest.config.ts'), vitest)
  const settings = {
    testRunner: 'vitest',
    plugins: [join(tools, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
    vitest: { configFile: 'stryker.vitest.config.ts', related: false },
    mutate,
    // The tree is a copy already.
    inPlace: true,
    concurrency: atOnce,
    coverageAnalysis: 'perTest',
    timeoutMS: 30_000,
    // Words for people and names of things are no behaviour that a test should pin.
    mutator: { excludedMutations: ['StringLiteral'] },
    reporters: ['json', 'html', 'progress-append-only'],
    jsonReporter: { fileName: 'stryker.json' },
    htmlReporter: { fileName: 'stryker.html' },
    allowEmpty: false,
  }
  await writeFile(join(tree, 'stryker.config.json'), JSON.stringify(settings, null, 2))
}

async function run(command: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(command, args, { cwd, stdio: 'inherit' })
  const [code] = (await once(child, 'close')) as [number | null]
  return code ?? 1
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    'at-once': { type: 'string', default: '2' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(`${usage}\n`)
else process.exitCode = await main(positionals[0] ?? 'pricing', values.only, Number(values['at-once']), values.keep)
