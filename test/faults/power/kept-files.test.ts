import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { acknowledgedName } from './acknowledged.ts'
import { buildShim } from './build-shim.ts'
import { Disk } from './disk.ts'
import { keptFiles } from './kept-files.ts'
import { type Change, readRecording } from './recording.ts'
import { survivalKinds } from './survival.ts'

const drawsOfEachKind = 20

/** What a process of its own changes in the followed folder while it writes the file. */
async function record(rule: string, followed: string): Promise<Change[]> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-kept-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const root = join(folder, 'data')
  await mkdir(join(root, followed), { recursive: true })
  const log = join(folder, 'recording')
  const env = {
    ...process.env,
    LD_PRELOAD: buildShim(folder),
    FAREBOX_SHIM_FOLDER: join(root, followed),
    FAREBOX_SHIM_LOG: log,
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'kept-file-child.ts'), root, rule], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env,
  })
  expect(await once(child, 'exit')).toEqual([0, null])
  return readRecording(await readFile(log))
}

describe('once it was written, a loss of power leaves', { tags: ['linux', 'cc'] }, () => {
  test.each(Object.keys(keptFiles))('%s', { timeout: 60_000 }, async rule => {
    const { followed = '', name = '' } = keptFiles[rule] ?? {}
    const changes = await record(rule, followed)
    const disk = new Disk()
    for (const change of changes) {
      if (change.what === 'made' && change.name === acknowledgedName) break
      disk.take(change)
    }
    const written = disk.now().get(name)
    expect(written).toBeDefined()
    for (const kind of survivalKinds)
      for (let draw = 0; draw < drawsOfEachKind; draw++)
        expect([kind, disk.afterPowerLoss(kind, seeded(draw, kind)).get(name)]).toEqual([kind, written])
  })
})
