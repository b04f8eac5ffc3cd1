/**
 * Two layers of tests. `npm test` runs those that stay in one process; a file that starts a chain, a database, a browser
 * or another process, itself or by a helper, belongs to `npm run test:integration`, as simulations do. A file's imports
 * decide, and a list where they do not tell.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** What only a test of the second layer imports. */
const outside =
  /^(node:child_process|playwright-core|pg|vitest\/node)$|^#local\/|^#cli\/(main|up|serve|mcp)|(^|\/)(faults|postgres|valkey|s3|browser)\//

const named = (...names: string[]) => names.map(name => `test/${name}.test.ts`)

/** What imports do not tell: the product runs programs, codecs, models or the writer's thread below these. */
export const testsOfPrograms = named(
  'engines/demo/video',
  'engines/faces/human-faces',
  'engines/gguf/chat',
  'engines/local/pocketsphinx',
  'engines/service/chain',
  'host/media/limits',
  'host/workers/subprocess',
  'ledger/store/sqlite-writer',
  'service/video',
)

/** Many stories, found by chance. */
const simulations = named('agent/published-requests', 'service/http/idempotency/twins')

const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const importsOf = (path: string): string[] =>
  [...read(path).matchAll(/(?:from|import\() ?'([^']+)'/g)].flatMap(([, name]) => name ?? [])

function reachesOutside(path: string, seen: Set<string>): boolean {
  if (seen.has(path) || !existsSync(`${root}${path}`)) return false
  seen.add(path)
  if (outside.test(path.replace(/^test\//, ''))) return true
  return importsOf(path).some(
    name => outside.test(name) || (name.startsWith('.') && reachesOutside(posix.join(posix.dirname(path), name), seen)),
  )
}

const all = globSync('test/**/*.test.ts', { cwd: root })
  .map(path => path.replaceAll('\\', '/'))
  .sort()

/** Beyond what imports tell. */
export const listedTests = [...testsOfPrograms, ...simulations]

export const integrationTests = all.filter(path => listedTests.includes(path) || reachesOutside(path, new Set()))
export const unitTests = all.filter(path => !integrationTests.includes(path))
