import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { Disk } from './disk.ts'
import { type PowerOptions, runPowerLosses } from './power-losses.ts'
import type { Change } from './recording.ts'
import { survivalKinds } from './survival.ts'

/** A short run of what `npm run faults -- --power` does for long. */
describe('a store that loses its power', { timeout: 120_000, tags: ['linux', 'cc'] }, () => {
  async function losePower(options: Partial<PowerOptions>) {
    const folder = await mkdtemp(join(tmpdir(), 'farebox-power-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    return runPowerLosses({ images: 20, seed: 5, units: 600, folder, ...options })
  }

  test('keeps what it acknowledged, whatever was not synced', async () => {
    const report = await losePower({})
    expect(report.failures).toEqual([])
    expect(report.acknowledged).toBeGreaterThan(400)
    expect(report.withUnsynced).toBeGreaterThan(4)
  })

  test('is found out where its syncs do nothing', async () => {
    const report = await losePower({ withoutSyncs: true, images: 8 })
    expect(report.failures.length).toBeGreaterThan(4)
    expect(report.failures.some(sentence => sentence.includes('was acknowledged, and it is not there'))).toBe(true)
  })
})

describe('a disk after a loss of power', () => {
  const made: Change = { what: 'made', file: 1, name: 'a' }
  const written = (offset: number, text: string): Change => {
    return { what: 'written', file: 1, offset, bytes: Buffer.from(text) }
  }
  const synced: Change[] = [{ what: 'synced', file: 1 }, { what: 'folder synced' }]
  const left = (changes: Change[], seed = 1, kind: (typeof survivalKinds)[number] = 'none') => {
    const disk = new Disk()
    for (const change of changes) disk.take(change)
    return disk.afterPowerLoss(kind, seeded(seed, 'disk'))
  }
  const text = (changes: Change[], seed?: number, kind?: (typeof survivalKinds)[number]) =>
    left(changes, seed, kind).get('a')?.toString()

  test.each(survivalKinds)('has everything that was synced (%s)', kind => {
    expect(text([made, written(0, 'old'), ...synced], 3, kind)).toBe('old')
  })

  test('may have lost what was written since', () => {
    expect(text([made, written(0, 'old'), ...synced, written(1, 'NEW')])).toBe('old')
    expect(text([made, written(0, 'old'), ...synced, { what: 'cut', file: 1, size: 0 }])).toBe('old')
  })

  test('may have lost a file whose folder was not synced, and have one again that was deleted', () => {
    expect([...left([made, written(0, 'old'), { what: 'synced', file: 1 }]).keys()]).toEqual([])
    expect([...left([made, ...synced, { what: 'deleted', name: 'a' }]).keys()]).toEqual(['a'])
  })

  test('may have a later write and not an earlier one', () => {
    const apart = [made, written(0, 'x'), ...synced, written(0, 'A'), written(1024, 'B')]
    const seen = Array.from({ length: 40 }, (_, seed) => text(apart, seed, 'sectors'))
    expect(seen.some(each => each?.startsWith('x') && each.endsWith('B'))).toBe(true)
  })

  test('may have half of a write', () => {
    const long = 'A'.repeat(512) + 'B'.repeat(512)
    const seen = Array.from({ length: 40 }, (_, seed) => text([made, ...synced, written(0, long)], seed, 'torn'))
    expect(seen).toContain(long.slice(0, 512))
    expect(seen).toContain('\0'.repeat(512) + long.slice(512))
  })
})
