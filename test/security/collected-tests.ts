import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))
const timeoutMs = 120_000

export interface CollectedTest {
  /** Under `test/`. */
  file: string
  /** What it is described in, and its own name with the values of its row. */
  names: readonly string[]
}

/** What vitest would run of these files under `test/`: rows of tables one by one, and nothing that is skipped. */
export async function collectedTests(files: readonly string[], config = 'vitest.config.ts'): Promise<CollectedTest[]> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
  const folder = await mkdtemp(join(tmpdir(), 'farebox-collected-'))
  const list = join(folder, 'tests.json')
  // One process without isolation reads every file's imports once; nothing of a test runs.
  const how = ['--no-static-parse', '--no-isolate', '--maxWorkers=1', `--config=${config}`, `--json=${list}`]
  try {
    const paths = files.map(file => `test/${file}`)
    await promisify(execFile)(process.execPath, [vitest, 'list', ...paths, ...how], {
      cwd: root,
      env: plainEnvironment(),
      timeout: timeoutMs,
    })
    const tests = JSON.parse(await readFile(list, 'utf8')) as { name: string; file: string }[]
    return tests.map(({ name, file }) => ({ file: relative(join(root, 'test'), file), names: name.split(' > ') }))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Without what the vitest that runs this one has set for its own workers. */
const plainEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^VITEST|^TEST$|^NODE_OPTIONS$/.test(name)))
