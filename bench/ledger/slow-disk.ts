import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { childMs, slowSyncMs } from './bounds.ts'
import type { LedgerFigures } from './measure.ts'

const run = promisify(execFile)

/** The figures of SQLite where each sync takes longer; null where this machine cannot make it so. */
export async function measureOnSlowDisk(folder: string): Promise<LedgerFigures | null> {
  if (process.platform !== 'linux') return null
  const library = join(folder, 'slow-sync.so')
  const source = join(import.meta.dirname, 'slow-sync.c')
  const built = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  if (built.status !== 0) return null
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'sqlite-child.ts'), join(folder, 'slow')], {
    env: { ...process.env, LD_PRELOAD: library, SLOW_SYNC_MS: `${slowSyncMs}` },
    timeout: childMs,
  })
  return JSON.parse(stdout) as LedgerFigures
}
