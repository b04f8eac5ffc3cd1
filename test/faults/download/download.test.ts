import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cutDownload } from './download-run.ts'

/** What `npm run faults -- --download` does to a gigabyte. */
test('a download that is cut and killed repeatedly ends with the exact file', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-download-'))
  const ends: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const end of ends) await end().catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })
  const bytes = 24 * 1024 * 1024 + 7
  const order = { bytes, cuts: 6, kills: 2, seed: 3, folder, say: () => undefined }
  const came = await cutDownload({ ...order, onStop: end => void ends.push(end) })
  expect(came.failures).toEqual([])
  expect([came.cuts, came.kills]).toEqual([6, 2])
  expect(came.starts.filter(start => start === 0)).toHaveLength(1)
})
