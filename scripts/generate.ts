import { readFile, writeFile } from 'node:fs/promises'
import { generators } from './generators.ts'

/** Writes every generated file; with `--check` compares instead, and fails with the names of those that differ. */
const isCheck = process.argv.includes('--check')
const root = new URL('../', import.meta.url)

const stale: string[] = []
for (const { path, make } of generators) {
  const at = new URL(path, root)
  const wanted = await make()
  const found = await readFile(at, 'utf8').catch(() => null)
  if (found === wanted) continue
  stale.push(path)
  if (!isCheck) await writeFile(at, wanted)
}

if (isCheck && stale.length > 0) {
  process.stderr.write(`Out of date: ${stale.join(', ')}. Run npm run generate and commit what it writes.\n`)
  process.exitCode = 1
} else process.stdout.write(stale.length > 0 ? `Wrote ${stale.join(', ')}.\n` : 'Generated files are up to date.\n')
