import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))
const lister = fileURLToPath(new URL('list-tests.ts', import.meta.url))
const timeoutMs = 120_000

export interface CollectedTest {
  /** Under `test/`. */
  file: string
  /** What it is described in, and its own name with the values of its row. */
  names: readonly string[]
  isSkipped: boolean
  /** What it needs, by `test/needs/needs.ts`. */
  tags: readonly string[]
}

/** What vitest finds in these files under `test/`: rows of tables one by one, and what it would skip. */
export async function collectedTests(files: readonly string[], config = 'vitest.config.ts'): Promise<CollectedTest[]> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-collected-'))
  const list = join(folder, 'tests.json')
  try {
    const paths = files.map(file => `test/${file}`)
    await promisify(execFile)(process.execPath, [lister, list, config, ...paths], {
      cwd: root,
      env: plainEnvironment(),
      timeout: timeoutMs,
    })
    const tests = JSON.parse(await readFile(list, 'utf8')) as CollectedTest[]
    return tests.map(test => ({ ...test, file: relative('test', test.file) }))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Without what the vitest that runs this one has set for its own workers. */
const plainEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^VITEST|^TEST$|^NODE_OPTIONS$/.test(name)))
