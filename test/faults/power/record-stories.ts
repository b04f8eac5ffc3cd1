import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acknowledgedName } from './acknowledged.ts'
import { buildShim } from './build-shim.ts'
import { Disk } from './disk.ts'
import { type Change, readRecording } from './recording.ts'

const child = join(import.meta.dirname, 'stories-child.ts')

/** Runs the real store under a load of so many units, and answers every change that it made to its files. */
export async function recordStories(folder: string, seed: number, units: number): Promise<Change[]> {
  const store = join(folder, 'store')
  const log = join(folder, 'recording')
  await mkdir(store, { mode: 0o700 })
  const running = spawn(process.execPath, [child, store, `${seed}`, `${units}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, LD_PRELOAD: buildShim(folder), FAREBOX_SHIM_FOLDER: store, FAREBOX_SHIM_LOG: log },
  })
  const [code] = (await once(running, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`The store's load ended with ${code}.`)
  const changes = readRecording(await readFile(log))
  await requireWhole(changes, store)
  return changes
}

/** A write that the recording missed would make every image wrong, so the files are built from it and compared. */
async function requireWhole(changes: readonly Change[], folder: string): Promise<void> {
  const disk = new Disk()
  for (const change of changes) disk.take(change)
  const built = disk.now()
  for (const name of await readdir(folder)) {
    if (name.endsWith('-shm')) continue
    const bytes = await readFile(join(folder, name))
    if (!built.get(name)?.equals(bytes)) throw new Error(`The recording does not explain what is in ${name}.`)
  }
  if (!built.has(acknowledgedName)) throw new Error('The recording tells nothing of what was acknowledged.')
}
