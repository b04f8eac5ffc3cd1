import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { diskFullRun } from './disk-full-run.ts'

test('a full disk is reported clearly, and work resumes once there is space', {
  timeout: 240_000,
  tags: ['linux', 'cc'],
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-full-'))
  const ends: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const end of ends) await end()
    await rm(folder, { recursive: true, force: true })
  })
  const order = { count: 1, seed: 8, steps: 0, store: 'sqlite', folder, say: () => undefined } as const
  const { isWell, lines } = await diskFullRun({ ...order, onStop: end => void ends.push(end) })
  expect(lines.filter(line => line.startsWith('✗'))).toEqual([])
  expect(isWell).toBe(true)
})
