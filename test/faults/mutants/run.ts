import { parseArgs } from 'node:util'
import { findPostgres } from '../../needs/find-program.ts'
import { checkWords, type Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { postgresMutants } from './postgres-mutants.ts'
import { runCheck } from './run-check.ts'
import { TreeCopy } from './tree-copy.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const usage = `Usage: npm run faults:mutants -- [--only TEXT]

Makes ${mutants.length} mistakes, one after the other, in a copy of the repository, and looks whether the check that is
named for it notices; then ${postgresMutants.length} in the functions of the PostgreSQL store, where there is a server for them.

  --only TEXT   only those whose name has this in it`

interface Table {
  mutants: readonly Mutant[]
  /** How the count of them is said. */
  words: string
}

async function main(tables: readonly Table[]): Promise<number> {
  const tree = await TreeCopy.make()
  try {
    const verdicts: string[] = []
    let isWell = true
    for (const table of tables) {
      const caught = await caughtOf(tree, table.mutants)
      if (caught === null) return 1
      isWell &&= caught === table.mutants.length
      verdicts.push(`${caught} of ${table.mutants.length} ${table.words}`)
    }
    for (const verdict of verdicts) print(verdict)
    return isWell ? 0 : 1
  } finally {
    await tree.remove()
  }
}

/** Null where a check does not even say that the tree is sound as it is. */
async function caughtOf(tree: TreeCopy, chosen: readonly Mutant[]): Promise<number | null> {
  if (!(await isSound(tree, chosen))) return null
  let caught = 0
  for (const mutant of chosen) {
    if (await isCaught(tree, mutant)) caught++
  }
  return caught
}

/** A check that fails anyway would catch everything. */
async function isSound(tree: TreeCopy, chosen: readonly Mutant[]): Promise<boolean> {
  const checks = new Map(chosen.map(({ check }) => [checkWords(check), check]))
  for (const [words, check] of checks) {
    const verdict = await runCheck(tree.folder, check)
    if (verdict.is === 'sound') continue
    print(`Without any mistake ${words} says: ${verdict.is === 'caught' ? verdict.by : verdict.why}`)
    return false
  }
  return true
}

async function isCaught(tree: TreeCopy, { name, patches, check }: Mutant): Promise<boolean> {
  const startedMs = performance.now()
  const verdict = await tree.with(patches, () => runCheck(tree.folder, check))
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  if (verdict.is === 'caught') print(`✓ ${name} (${seconds} s, ${verdict.by})`)
  else print(`✗ ${name}: ${verdict.is === 'sound' ? `not noticed by ${checkWords(check)}` : verdict.why}`)
  return verdict.is === 'caught'
}

/** Those of PostgreSQL are left out where this machine has none, but for FAREBOX_TEST_ALL=1. */
function chosenTables(only: string): Table[] {
  const hasServer = findPostgres() !== null || process.env.FAREBOX_TEST_ALL === '1'
  if (!hasServer) print('Without PostgreSQL the mistakes in its functions are left out; install Debian’s `postgresql`.')
  const all: Table[] = [
    { mutants, words: 'caught' },
    { mutants: hasServer ? postgresMutants : [], words: 'caught in the PostgreSQL functions' },
  ]
  return all
    .map(table => ({ ...table, mutants: table.mutants.filter(({ name }) => name.includes(only)) }))
    .filter(table => table.mutants.length > 0)
}

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, help: { type: 'boolean' } } })
if (values.help) print(usage)
else process.exitCode = await main(chosenTables(values.only))
