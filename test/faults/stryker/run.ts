/**
 * Stryker's changes to the rooms that handle money: every expression there is changed, one at a time, and the tests of the
 * room have to notice. Stryker is installed into a temporary folder for the run, because it brings more packages than
 * everything else here together.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { TreeCopy } from '../mutants/tree-copy.ts'
import { beginnings, changedPollMs, changedTestMs, silenceMs } from './bounds.ts'
import { type Change, instrument } from './instrument.ts'

/** A room of which every expression is changed, and the tests that have to notice. */
export interface Room {
  mutate: readonly string[]
  /** The cheap ones first: most changes are noticed by them, and the rest is not asked then. */
  tests: readonly string[]
  /** Waits that are shortened for the run, as so many tests wait so often: file, what it says, what it says then. */
  waits?: readonly (readonly [file: string, from: string, to: string])[]
}

export const rooms: Readonly<Record<string, Room>> = {
  pricing: {
    mutate: ['src/{engines/tokens,service/capabilities}/**/{price-*,*token*}.ts'],
    tests: ['test/service/pricing/**/*.test.ts'],
  },
  ledger: {
    mutate: ['src/ledger/charges/**/*.ts'],
    tests: [
      'test/service/ledger/{lapsed-holds,list-balances,funding,watched-store,export-csv}.test.ts',
      'test/service/ledger/{charge-ends,charge-leases,charge-anew,charges-stream}.test.ts',
      'test/service/ledger/{look-over,audit-edges,audit-reader,charges-reach,charges-watch,audit}.test.ts',
      'test/service/ledger/{audit-chain-cases,audit-transfers-evm,audit-transfers-svm}.test.ts',
      'test/service/ledger/{charges-property,audit-chain}.test.ts',
      'test/service/charge-unknown.test.ts',
    ],
  },
  payments: {
    waits: [
      ['src/payments/bounds.ts', 'landingLookMs = 100', 'landingLookMs = 1'],
      ['src/payments/bounds.ts', 'confirmationLookMs = 1_000', 'confirmationLookMs = 10'],
      ['src/payments/bounds.ts', 'solanaPollMs = 400', 'solanaPollMs = 20'],
      ['src/payments/bounds.ts', 'resendMs = 2_000', 'resendMs = 100'],
    ],
    mutate: ['src/payments/**/*.ts'],
    tests: [
      'test/payments/{refusal-facts,payment-header-refusals,payment-terms,fee-budget,looking-after}.test.ts',
      'test/payments/{svm-message,svm-transfer,svm-key,svm-payment-chain,svm-payment-search,svm-facilitator}.test.ts',
      'test/payments/{evm-offer,evm-signatures,evm-payment-chain,facilitator-answers}.test.ts',
      'test/payments/{payment-left,payment-driver,top-up-answers,payee-watch}.test.ts',
      'test/payments/{payment-header,payment-settings,confirmations,top-up,remote-facilitator}.test.ts',
      'test/payments/{local-facilitator,contract-wallets,svm-settling,svm-failures,svm-remote}.test.ts',
    ],
  },
}

export type Fate = 'noticed' | 'missed' | 'not judged'

export interface Judged extends Change {
  fate: Fate
}

/** What became of each change, by the log of those who tried them. Never reached is missed; left-out kinds are not in it. */
export function judged(changes: readonly Change[], log: string): Judged[] {
  const noticed = new Set(log.match(/(?<=^(?:killed|hung) )\d+$/gm))
  const reached = new Set((log.match(/(?<=^reached ).+$/gm) ?? []).flatMap(line => line.split(',')))
  const atImport = new Set((log.match(/(?<=^at-import ).+$/gm) ?? []).flatMap(line => line.split(',')))
  const fateOf = (id: string): Fate => {
    if (noticed.has(id)) return 'noticed'
    return atImport.has(id) && !reached.has(id) ? 'not judged' : 'missed'
  }
  return changes.filter(({ status }) => status !== 'Ignored').map(change => ({ ...change, fate: fateOf(change.id) }))
}

/** The ids of changes that an earlier run noticed, where the source says the same in the same place. */
export function noticedBefore(changes: readonly Change[], earlier: readonly Judged[]): string[] {
  const nameOf = ({ fileName, replacement, location }: Change) => JSON.stringify([fileName, location, replacement])
  const noticed = new Set(earlier.filter(({ fate }) => fate === 'noticed').map(nameOf))
  return changes.filter(change => noticed.has(nameOf(change))).map(({ id }) => id)
}

export function printScore(changes: readonly Judged[], room: string): void {
  const files = Map.groupBy(changes, ({ fileName }) => fileName)
  for (const [file, own] of [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const lines = own.filter(({ fate }) => fate === 'missed').map(({ location }) => location.start.line + 1)
    const where = lines.length ? `, missed in lines ${[...new Set(lines)].join(', ')}` : ''
    process.stdout.write(`${file}: ${told(own)}${where}\n`)
  }
  process.stdout.write(`${room}: ${told(changes)}\n`)
}

function told(changes: readonly Judged[]): string {
  const count = (fate: Fate) => changes.filter(change => change.fate === fate).length
  const [noticed, all] = [count('noticed'), count('noticed') + count('missed')]
  const rest = count('not judged') ? `, ${count('not judged')} that act while a file is read not judged` : ''
  return `${noticed} of ${all} noticed, ${((100 * noticed) / Math.max(1, all)).toFixed(1)} %${rest}`
}

const usage = `Usage: npm run faults:stryker -- [${Object.keys(rooms).join('|')}] [--files GLOB]... [--at-once N]

  --files GLOB     only these files of the room; may be said again
  --tests GLOB     only these tests; may be said again
  --at-once N      test files side by side (2)
  --tools FOLDER   where Stryker is, or is to be and to stay; a folder for this run alone where absent
  --report FILE    writes what became of each change, as JSON
  --after FILE     such a report of an earlier run: what was noticed then is not tried again; may be said again`

interface Order {
  room: string
  files: readonly string[]
  tests: readonly string[]
  atOnce: string
  tools: string | undefined
  report: string | undefined
  after: readonly string[]
}

async function main({ room, files, tests, atOnce, tools, report, after }: Order): Promise<number> {
  const chosen = rooms[room]
  if (!chosen) throw new Error(usage)
  const tree = await TreeCopy.make()
  const stryker = tools ?? (await mkdtemp(join(tmpdir(), 'farebox-stryker-')))
  try {
    if (!existsSync(join(stryker, 'node_modules'))) await install(stryker)
    const found = globSync(files.length ? [...files] : [...chosen.mutate], { cwd: tree.folder }).toSorted()
    const changes = await instrument(tree.folder, stryker, found)
    process.stdout.write(`${changes.filter(({ status }) => status !== 'Ignored').length} changes\n`)
    const log = join(tree.folder, 'stryker.log')
    await writeFile(join(tree.folder, 'changes.json'), JSON.stringify(changes))
    await writeFile(
      log,
      noticedBefore(changes, await earlier(after))
        .map(id => `killed ${id}\n`)
        .join(''),
    )
    for (const [file, from, to] of chosen.waits ?? []) await shorten(join(tree.folder, file), from, to)
    await configure(tree.folder, tests.length ? tests : chosen.tests, Number(atOnce))
    await judge(tree.folder, log)
    const fates = judged(changes, await readFile(log, 'utf8'))
    if (report !== undefined) await writeFile(report, JSON.stringify(fates, null, 1))
    printScore(fates, room)
    return 0
  } finally {
    await tree.remove()
    if (tools === undefined) await rm(stryker, { recursive: true, force: true })
  }
}

/** What became of changes in earlier runs. */
async function earlier(reports: readonly string[]): Promise<Judged[]> {
  const read = reports.map(async file => JSON.parse(await readFile(file, 'utf8')) as Judged[])
  return (await Promise.all(read)).flat()
}

async function shorten(file: string, from: string, to: string): Promise<void> {
  const source = await readFile(file, 'utf8')
  if (!source.includes(from)) throw new Error(`${file} does not say ${from} any more; look at rooms.ts.`)
  await writeFile(file, source.replace(from, to))
}

async function install(tools: string): Promise<void> {
  await mkdir(tools, { recursive: true })
  await writeFile(join(tools, 'package.json'), '{"private":true}')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
  const child = spawn('npm', ['install', ...flags, '@stryker-mutator/instrumenter@10.1.1', 'typed-inject@5.0.0'], {
    cwd: tools,
    stdio: 'inherit',
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error('Stryker could not be installed.')
}

async function configure(tree: string, tests: readonly string[], atOnce: number): Promise<void> {
  const files = tests.flatMap(glob => globSync(glob, { cwd: tree }).toSorted())
  const order = JSON.stringify([...new Set(files)])
  const vitest = `import { BaseSequencer } from 'vitest/node'
const order = ${order}
/** What is cheap notices most, and the rest is not asked then. */
class CheapFirst extends BaseSequencer {
  async sort(files) {
    const place = ({ moduleId }) => order.findIndex(test => moduleId.endsWith(test))
    return files.toSorted((one, other) => place(one) - place(other))
  }
}
export default {
  test: {
    include: order,
    pool: 'forks',
    maxWorkers: ${atOnce},
    runner: './test/faults/stryker/judge.ts',
    reporters: [{}],
    sequence: { sequencer: CheapFirst },
    testTimeout: ${changedTestMs},
    hookTimeout: 60_000,
    expect: { poll: { timeout: ${changedPollMs} } },
  },
}
`
  await writeFile(join(tree, 'stryker.vitest.config.js'), vitest)
}

/** Until every test has been through: a change may break what the next one needs, or stop its process for good. */
async function judge(tree: string, log: string): Promise<void> {
  for (let beginning = 0; beginning < beginnings; beginning++) {
    const before = (await readFile(log, 'utf8')).length
    const stopped = await runTests(tree, log)
    const told = (await readFile(log, 'utf8')).slice(before)
    const broken = told.match(/^(?:broken|failing) .*$/gm) ?? []
    for (const line of broken) process.stdout.write(`${line}\n`)
    if (!stopped && (!broken.length || !told.includes('\ntry '))) return
  }
  process.stdout.write('Not all of the tests came to their end.\n')
}

/** Answers whether the tests had to be stopped. */
async function runTests(tree: string, log: string): Promise<boolean> {
  // A commit of a store waits for its disk, which judges nothing here.
  const temporary = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'farebox-stryker-'))
  // PostgreSQL runs as a user of its own where this is root, and has to get to its folder in here.
  await chmod(temporary, 0o711)
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'stryker.vitest.config.js']
  const child = spawn(process.execPath, vitest, {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, FAREBOX_STRYKER_LOG: log, TMPDIR: temporary },
    detached: true,
  })
  const ended = once(child, 'close')
  let stopped = false
  const watch = setInterval(async () => {
    const { mtimeMs } = await stat(log)
    if (stopped || Date.now() - mtimeMs < silenceMs || child.pid === undefined) return
    stopped = true
    const last = (await readFile(log, 'utf8'))
      .trimEnd()
      .split('\n')
      .at(-1)
      ?.match(/(?<=^try .*\/)\d+$/)
    if (last) await appendFile(log, `hung ${last}\n`)
    process.kill(-child.pid, 'SIGKILL')
  }, 5_000)
  await ended
  clearInterval(watch)
  await rm(temporary, { recursive: true, force: true })
  return stopped
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    files: { type: 'string', multiple: true, default: [] },
    tests: { type: 'string', multiple: true, default: [] },
    'at-once': { type: 'string', default: '2' },
    tools: { type: 'string' },
    report: { type: 'string' },
    after: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(`${usage}\n`)
else {
  const { files, tests, tools, report, after } = values
  process.exitCode = await main({
    room: positionals[0] ?? 'pricing',
    files,
    tests,
    tools,
    report,
    after,
    atOnce: values['at-once'],
  })
}
