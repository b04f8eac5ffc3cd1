import { expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { jobOutput } from '#toolkit/output/job.ts'
import type { JobView } from '#toolkit/tool-context.ts'
import jobList from '#tools/job-list.ts'

const job = (changes: Partial<JobView>): JobView => ({
  jobId: 'job_1',
  kind: 'video',
  model: 'demo-video',
  state: 'running',
  startedAtMs: Date.UTC(2026, 10, 22, 9, 5),
  typicalMs: null,
  priceMicroUsd: microUsd(100_000),
  refunded: false,
  file: null,
  failure: null,
  ...changes,
})

test.each([
  [
    'a running one',
    {},
    '- demo-video, started 2026-11-22 09:05 UTC, 0.10 USD: Job job_1 is still running. Call job_wait with this id again.',
  ],
  [
    'one without a known price',
    { priceMicroUsd: null },
    '- demo-video, started 2026-11-22 09:05 UTC: Job job_1 is still running. Call job_wait with this id again.',
  ],
  [
    'one whose file is here',
    { state: 'completed', file: { path: '/o/a.mp4', mimeType: 'video/mp4', bytes: 7 } },
    '- demo-video, started 2026-11-22 09:05 UTC, 0.10 USD: Job job_1 is done. Saved: /o/a.mp4 (video/mp4, 7 bytes).',
  ],
] as const)('a list tells jobs apart: %s', (_, changes, line) => {
  expect(jobList.say({ jobs: [jobOutput(job(changes))] })).toBe(line)
})
