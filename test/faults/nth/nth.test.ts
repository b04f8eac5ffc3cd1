import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failEveryCommit } from './fail-nth.ts'
import type { Failure } from './failing-store.ts'
import { nthFlows } from './nth-flows.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-nth-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const rows: [flow: string, how: Failure, commits: number][] = [
  ['chat', 'answer lost', 2],
  ['stream', 'full', 2],
  ['top-up', 'lost', 2],
  ['video that fails', 'answer lost', 4],
]

/** A short run of what `npm run faults -- --nth` does for every flow in every way. */
test.each(rows)('every commit of a %s may be %s', { timeout: 120_000 }, async (name, how, commits) => {
  const flows = nthFlows.filter(flow => flow.name === name)
  const report = await failEveryCommit({ folder, flows, how: [how] })
  expect(report.failures).toEqual([])
  // At least so many: a renewal or another look at a job may come in between on a busy machine.
  expect(report.commits.get(name)).toBeGreaterThanOrEqual(commits)
})
