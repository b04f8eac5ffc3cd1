import { parseArgs } from 'node:util'
import { checkWords, type Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { runCheck } from './run-check.ts'
import { TreeCopy } from './tree-copy.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const usage = `Usage: npm run faults:mutants -- [--only TEXT]

Makes ${mutants.length} mistakes, one after the other, in a copy of the repository, and looks whether the check that is
named for it notices.

  --only TEXT   only those whose name has this in it`

async function main(chosen: readonly Mutant[]): Promise<number> {
  const tree = await TreeCopy.make()
  try {
    if (!(await isSound(tree, chosen))) return 1
    let caught = 0
    for (const mutant of chosen) {
      if (await isCaught(tree, mutant)) caught++
    }
    print(`${caught} of ${chosen.length} caught`)
    return caught === chosen.length ? 0 : 1
  } finally {
    await tree.remove()
  }
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

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, help: { type: 'boolean' } } })
if (values.help) print(usage)
else process.exitCode = await main(mutants.filter(({ name }) => name.includes(values.only)))
