import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { chargeUnknown, ledgerUnreachable } from '#contract/errors/errors.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { temporaryFolder } from './open-agent.ts'
import { failureOf, questionOf } from './outcome-of.ts'
import { payingAgents } from './paying-agent.ts'

const { setUp, open } = payingAgents()

test('the same call at once is bought once; again buys another', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  const both = await Promise.all([agent.chat(), agent.chat()])
  expect(both.map(({ answer }) => answer.choices[0]?.message.content)).toEqual(['answer 1', 'answer 1'])
  expect(both.map(({ paid }) => paid.isEarlierCall ?? false)).toEqual([false, true])
  await agent.chat('hi', true)
  expect(server.ledger.chats).toBe(2)
})

test('an answer without a waiting caller is kept, and the next identical call gets it for free', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: held, resolve: answerNow } = Promise.withResolvers<void>()
  const { server, agent } = await setUp({
    credit: 5,
    instead: async seen => {
      if (!seen.path.endsWith('/chat/completions')) return false
      arrive()
      await held
      return false
    },
  })
  const stop = new AbortController()
  const unwanted = agent.chat('hi', false, stop.signal)
  await arrived
  stop.abort()
  await expect(unwanted).rejects.toThrow(/abort/i)
  answerNow()
  const { answer, paid } = await agent.chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  expect(server.ledger.chats).toBe(1)
})

test.each([
  ['the charge is not known', chargeUnknown()],
  ['the ledger cannot be reached', ledgerUnreachable()],
])('where %s, a call is bought again only on purpose', async (_what, { status, body }) => {
  let isAway = true
  const { server, agent } = await setUp({
    credit: 5,
    instead: (seen, response) => {
      if (!isAway || !seen.path.endsWith('/chat/completions')) return false
      answerJson(response, status, body)
      return true
    },
  })
  expect(await failureOf(agent.chat())).toMatchObject({
    charged: 'unknown',
    next: expect.stringContaining('wallet_status'),
  })
  isAway = false
  expect((await failureOf(agent.chat())).next).toContain('again: true')
  expect(server.ledger.chats).toBe(0)
  await agent.chat('hi', true)
  expect(server.ledger.chats).toBe(1)
})

test('a lost answer is reported, and bought again only on request', async () => {
  let isBroken = true
  const { server, agent } = await setUp({
    credit: 5,
    instead: (seen, response) => {
      if (!isBroken || !seen.path.endsWith('/chat/completions')) return false
      response.destroy()
      return true
    },
  })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  isBroken = false
  expect((await failureOf(agent.chat())).next).toContain('again: true')
  expect(server.ledger.chats).toBe(0)
  await agent.chat('hi', true)
  expect(server.ledger.chats).toBe(1)
})

test('a paid answer that cannot be written down is not bought again by itself', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  const { jobRows } = agent
  const insert = jobRows.insert.bind(jobRows)
  jobRows.insert = () => {
    throw new Error('disk full')
  }
  await expect(agent.video()).rejects.toThrow('disk full')
  jobRows.insert = insert
  expect(await failureOf(agent.video())).toMatchObject({ charged: 'unknown' })
  expect((await agent.approvals.get(question.approvalId))?.usedBy).not.toBe(null)
  expect(server.ledger.videos).toBe(1)
})

test('a call that an earlier start with our number left planned is taken over', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  await agent.chat()
  const owner = `${process.pid}@${hostname()}#another-start`
  agent.state.database().prepare(`UPDATE paid_calls SET state = 'planned', owner = ?`).run(owner)
  await agent.chat()
  expect(server.ledger.chats).toBe(2)
})

const laterTries: [rule: string, state: string, atMinutes: number[], chats: number][] = [
  ['sent by a process that ended is the same one while it may be worked on', 'sent', [19], 1],
  ['sent by a process that ended stays the same one after a look', 'sent', [9, 18], 1],
  ['sent by a process that ended is over after an hour', 'sent', [61], 2],
  ['planned by a process that ended is taken over', 'planned', [9], 2],
  ['that failed buys at once', 'failed', [0], 2],
  ['whose answer was lost is returned for free for a day', 'answered', [23 * 60], 1],
  ['whose answer was lost expires after a day', 'answered', [25 * 60], 2],
]

test.each(laterTries)('a call %s', async (_rule, state, atMinutes, chats) => {
  const clock = manualClock()
  const startedAtMs = clock.nowMs
  const { server, agent } = await setUp({ credit: 5 }, { clock })
  await agent.chat()
  const owner = `${process.pid}@${hostname()}#another-start`
  agent.state.database().prepare('UPDATE paid_calls SET state = ?, owner = ?').run(state, owner)
  for (const minutes of atMinutes) {
    clock.nowMs = startedAtMs + minutes * 60_000
    const isLost = state === 'sent' && chats === 1
    if (isLost) expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
    else expect((await agent.chat()).paid.isEarlierCall ?? false).toBe(chats === 1)
  }
  expect(server.ledger.chats).toBe(chats)
})

test('a call that was planned ten minutes ago is no longer taken over', async () => {
  const clock = manualClock()
  const { agent } = await setUp({ credit: 5 }, { clock })
  await agent.chat()
  const rows = agent.state.database()
  const owner = `${process.pid}@${hostname()}#another-start`
  rows.prepare(`UPDATE paid_calls SET state = 'planned', owner = ?`).run(owner)
  clock.nowMs += 11 * 60_000
  await agent.chat()
  expect(rows.prepare('SELECT state FROM paid_calls ORDER BY rowid').all()).toMatchObject([
    { state: 'planned' },
    { state: 'delivered' },
  ])
})

test('a started video is the same job for the same call, also after a restart', async () => {
  const dataFolder = temporaryFolder()
  const { server, agent } = await setUp({ credit: 5 }, { dataFolder })
  const { job } = await agent.video()
  expect((await agent.video()).paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  const other = await open({ baseUrl: server.baseUrl, dataFolder })
  expect((await other.video()).job.jobId).toBe(job.jobId)
  expect(await other.context().jobs.list(10)).toHaveLength(1)
  expect(server.ledger.videos).toBe(1)
  expect((await other.video('a cat', true)).job.jobId).not.toBe(job.jobId)
})
