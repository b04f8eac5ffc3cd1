import { readFile } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { savingLeaseMs } from '#agent/bounds.ts'
import { JobRows } from '#agent/jobs/job-rows.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { gate } from './gate.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const video = Buffer.concat([Buffer.from('00000018667479706d703432', 'hex'), Buffer.alloc(1_000, 7)])

type Answer = 'running' | 'file' | [status: number, body: unknown]

/** A service whose polls return these answers, and then always the last one. */
async function setUp(answers: Answer[], more: { refunds?: boolean; downloadUrl?: string } = {}) {
  const server = await pretendService({
    credit: 5,
    ...(more.downloadUrl ? { downloadUrl: more.downloadUrl } : {}),
    instead: (seen, response) => {
      if (more.refunds && seen.path.includes('/x402/transactions/')) {
        const row = {
          id: 't',
          amount: 0.2,
          balanceAfter: 5,
          type: 'REFUND',
          createdAt: 'x',
          requestId: 'q1',
          modelId: null,
        }
        const pagination = { limit: 50, offset: 0, hasMore: false }
        const data = { walletAddress: 'w', currentBalance: 5, transactions: [row], pagination }
        answerJson(response, 200, { success: true, data })
        return true
      }
      if (seen.path.endsWith('/video/complete')) {
        answerJson(response, 200, { success: true })
        return true
      }
      if (!seen.path.endsWith('/video/retrieve')) return false
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer === 'file') response.writeHead(200, { 'content-type': 'video/mp4' }).end(video)
      else if (answer === 'running') {
        answerJson(response, 200, { status: 'PROCESSING', average_execution_time: 4_000, execution_duration: 1_000 })
      } else if (answer) answerJson(response, answer[0], answer[1])
      return true
    },
  })
  onTestFinished(server.close)
  const dataFolder = temporaryFolder()
  const open = async () => {
    const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder })
    onTestFinished(agent.close)
    return agent
  }
  const agent = await open()
  const { job } = await agent.video()
  return { server, agent, job, open }
}

test('a job is waited for with progress, and its file is saved under a name of ours', async () => {
  const { agent, job } = await setUp(['running', 'file'])
  const reports: unknown[] = []
  const { signal } = new AbortController()
  const context = agent.host.context({ signal, report: progress => reports.push(progress) })
  const done = await context.jobs.wait(job.jobId, 10_000)
  expect(done).toMatchObject({
    state: 'completed',
    typicalMs: 4_000,
    file: { mimeType: 'video/mp4', bytes: video.length },
  })
  expect(await readFile(done.file?.path ?? '')).toEqual(video)
  expect(reports[0]).toEqual({ message: 'm: 1 s of about 4 s', done: 1, total: 4 })
})

test('a wait that ends first says that the job runs; after a restart it is waited for on', async () => {
  const { agent, job, open } = await setUp(['running', 'running', 'file'])
  expect(await agent.context().jobs.wait(job.jobId, 500)).toMatchObject({ state: 'running', file: null })
  const later = await open()
  expect(await later.context().jobs.list(10)).toMatchObject([{ jobId: job.jobId, state: 'running' }])
  expect(await later.context().jobs.wait(job.jobId, 10_000)).toMatchObject({ state: 'completed' })
})

test('a job that an earlier process left is saved after the next start, by any caller', async () => {
  const { job, open } = await setUp(['file'])
  const later = await open()
  await later.context().jobs.list(1)
  await vi.waitFor(() => expect(later.jobRows.find(job.jobId)).toMatchObject({ state: 'completed' }), 20_000)
  expect(later.jobRows.find(job.jobId)?.file?.bytes).toBe(video.length)
})

test('two waits at once save one file', async () => {
  const { agent, job } = await setUp(['file'])
  const both = await Promise.all([1, 2].map(() => agent.context().jobs.wait(job.jobId, 10_000)))
  expect(new Set(both.map(({ file }) => file?.path)).size).toBe(1)
})

test('an answer that arrives once the file is saved does not save it again', async () => {
  const late = gate()
  let asked = 0
  const server = await pretendService({
    credit: 5,
    async instead({ path }, response) {
      if (!path.endsWith('/video/retrieve')) return false
      if (++asked === 1) await late.passed
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(video)
      return true
    },
  })
  onTestFinished(server.close)
  const agent = await openAgent({ baseUrl: server.baseUrl })
  onTestFinished(agent.close)
  const { job } = await agent.video()
  const first = agent.context().jobs.wait(job.jobId, 10_000)
  await late.reached
  const saved = await agent.context().jobs.wait(job.jobId, 10_000)
  late.open()
  expect((await first).file).toEqual(saved.file)
  expect(agent.jobRows.find(job.jobId)?.file).toEqual(saved.file)
})

test('a file that takes longer than its saving lease is not saved a second time', async () => {
  const slow = gate()
  let asked = 0
  const server = await pretendService({
    credit: 5,
    async instead({ path }, response) {
      if (!path.endsWith('/video/retrieve')) return false
      response.writeHead(200, { 'content-type': 'video/mp4' })
      if (++asked > 1) return Boolean(response.end(video))
      response.write(video.subarray(0, 100))
      await slow.passed
      response.end(video.subarray(100))
      return true
    },
  })
  onTestFinished(server.close)
  const clock = manualClock()
  const agent = await openAgent({ baseUrl: server.baseUrl, clock })
  onTestFinished(agent.close)
  const { job } = await agent.video()
  const first = agent.context().jobs.wait(job.jobId, 0)
  await slow.reached
  await vi.waitFor(() => expect(saverOf(agent.state, job.jobId)).toMatch(/@/), 20_000)
  clock.nowMs += savingLeaseMs + 1
  expect(await agent.context().jobs.wait(job.jobId, 0)).toMatchObject({ state: 'running' })
  slow.open()
  const done = await first
  expect(done).toMatchObject({ state: 'completed', file: { bytes: video.length } })
  expect(await readFile(done.file?.path ?? '')).toEqual(video)
})

test('a file that takes longer than the lease is not begun by another process while it arrives', async () => {
  const [slow, slower] = [gate(), gate()]
  const server = await pretendService({
    credit: 5,
    async instead({ path }, response) {
      if (!path.endsWith('/video/retrieve')) return false
      response.writeHead(200, { 'content-type': 'video/mp4' })
      response.write(video.subarray(0, 100))
      await slow.passed
      response.write(video.subarray(100, 200))
      await slower.passed
      return Boolean(response.end(video.subarray(200)))
    },
  })
  onTestFinished(server.close)
  const clock = manualClock()
  const agent = await openAgent({ baseUrl: server.baseUrl, clock })
  onTestFinished(agent.close)
  const { job } = await agent.video()
  const first = agent.context().jobs.wait(job.jobId, 0)
  await slow.reached
  await vi.waitFor(() => expect(saverOf(agent.state, job.jobId)).toMatch(/@/), 20_000)
  const until = () => agent.state.database().prepare('SELECT saving_until_ms AS ms FROM jobs').get()?.ms
  const before = until()
  clock.nowMs += savingLeaseMs * 0.6
  slow.open()
  await vi.waitFor(() => expect(until()).toBeGreaterThan(Number(before)), 20_000)
  clock.nowMs += savingLeaseMs * 0.6
  // Another process has rows of its own.
  expect(new JobRows(agent.state, clock).takeSaving(job.jobId)).toBe(false)
  slower.open()
  expect(await first).toMatchObject({ state: 'completed', file: { bytes: video.length } })
})

const saverOf = (state: { database(): DatabaseSync }, jobId: string): unknown =>
  state.database().prepare('SELECT saver FROM jobs WHERE id = ?').get(jobId)?.saver

test.each<[string, Answer, boolean, object]>([
  [
    'refused for its content, refunded by its own word',
    [422, { error: { message: 'secret words', type: 'provider_content_policy', credits_refunded: true } }],
    false,
    { state: 'failed', refunded: true },
  ],
  [
    'failed, refunded by the ledger',
    [500, { error: 'Inference processing failed' }],
    true,
    { state: 'failed', refunded: true },
  ],
  [
    'failed, no refund seen',
    [500, { error: 'Inference processing failed' }],
    false,
    { state: 'failed', refunded: false },
  ],
  [
    'gone',
    [404, { error: 'Media could not be found. Request may be invalid, expired, or deleted.' }],
    false,
    { state: 'deleted' },
  ],
])('a job that is %s', async (_, answer, refunds, expected) => {
  const { agent, job, server } = await setUp([answer], { refunds })
  const ended = await agent.context().jobs.wait(job.jobId, 10_000)
  expect(ended).toMatchObject(expected)
  expect(ended.failure).not.toContain('secret words')
  expect(server.countOf('/video/retrieve')).toBe(1)
})

test('a fault that passes does not end a wait', async () => {
  const { agent, job } = await setUp([[503, { error: 'x' }], 'file'])
  expect(await agent.context().jobs.wait(job.jobId, 20_000)).toMatchObject({ state: 'completed' })
})

test('a job that was never started is reported', async () => {
  const { agent } = await setUp(['running'])
  await expect(agent.context().jobs.wait('job_nothing', 1_000)).rejects.toThrow('No job has this id')
})

test('an address that gave no file is not asked to delete one', async () => {
  const { agent, job, server } = await setUp(['file'], { downloadUrl: 'https://files.invalid/somebody-elses' })
  await agent.context().jobs.wait(job.jobId, 10_000)
  expect(await agent.context().jobs.delete(job.jobId)).toMatchObject({ state: 'deleted' })
  expect(server.countOf('/video/complete')).toBe(1)
})

test('a job that is finished without a file is the service’s fault and not ours', async () => {
  const status = { status: 'COMPLETED', average_execution_time: 4_000, execution_duration: 4_000 }
  const { agent, job } = await setUp([[200, status], 'file'])
  await expect(agent.context().jobs.wait(job.jobId, 10_000)).rejects.toThrow(
    'an answer that does not match the API description',
  )
  expect(await agent.context().jobs.wait(job.jobId, 10_000)).toMatchObject({ state: 'completed' })
})

test('an address inside of the own network is not asked for a file', async () => {
  const completed = { status: 'COMPLETED', average_execution_time: 1, execution_duration: 1 }
  const { agent, job } = await setUp([[200, completed]], { downloadUrl: 'https://127.0.0.2:1/latest' })
  await expect(agent.context().jobs.wait(job.jobId, 10_000)).rejects.toThrow('in a private network')
  expect(agent.jobRows.find(job.jobId)).toMatchObject({ state: 'running', isDownloaded: false })
})
