import { hostname } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { booksUnreachable, chargeUnknown } from '#contract/errors.ts'
import { queueVideo } from '#contract/video.ts'
import type { ConsentQuestion } from '#toolkit/person.ts'
import { NeedsPerson } from '#toolkit/person.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, littleServer } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { type OpenAgent, openAgent, temporaryFolder } from './open-agent.ts'
import { option, type PretendOptions, policyText, pretendService } from './pretend-service.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function setUp(service: PretendOptions = {}, agent: Partial<OpenAgent> = {}) {
  const server = await pretendService(service)
  closing.push(server.close)
  return { server, agent: await open({ baseUrl: server.baseUrl, ...agent }) }
}

async function open(options: OpenAgent) {
  const agent = await openAgent(options)
  closing.push(agent.close)
  return agent
}

const failureOf = async (run: Promise<unknown>): Promise<ToolFailure['facts']> => {
  const error = await run.then(
    () => null,
    thrown => thrown,
  )
  expect(error).toBeInstanceOf(ToolFailure)
  return error.facts
}

const questionOf = async (run: Promise<unknown>) => {
  const error = await run.then(
    () => null,
    thrown => thrown,
  )
  expect(error).toBeInstanceOf(NeedsPerson)
  return (error as NeedsPerson).question
}

test('after a 402 it tops up once by the smallest amount, repeats, and says what it cost and what is left', async () => {
  const { server, agent } = await setUp()
  const { answer, paid } = await agent.chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(server.books.signatures).toHaveLength(1)
  expect(paid).toEqual({
    ...{ chargedMicroUsd: 1_000n, creditLeftMicroUsd: 4_999_000n, budgetLeftMicroUsd: 5_000_000n },
    notes: [expect.stringMatching(/^Credit was missing, so the wallet first paid 5\.00 USD for more \(pay_\w+\)\.$/)],
  })
  const chats = server.seen.filter(seen => seen.path.endsWith('/chat/completions'))
  const signIns = chats.map(seen => seen.headers['sign-in-with-x'])
  expect(new Set(signIns).size).toBe(2)
  expect((await agent.chat('another', true)).paid).not.toHaveProperty('notes')
})

test('credit that is there is spent first', async () => {
  const { server, agent } = await setUp({ credit: 3 })
  await agent.chat()
  expect(server.countOf('/x402/top-up')).toBe(0)
})

test('a service that asks for money for ever is paid once', async () => {
  const { server, agent } = await setUp({ isNeverPaid: true })
  for (let count = 0; count < 4; count++) {
    const { happened } = await failureOf(agent.chat(`again ${count}`))
    expect(happened).not.toContain('IGNORE')
  }
  expect(server.books.signatures).toHaveLength(1)
})

test('one call pays once, also where the wallet would pay again at once', async () => {
  const { server, agent } = await setUp({ isNeverPaid: true }, { settings: { cooldownMs: 0 } })
  await failureOf(agent.chat())
  expect(server.books.signatures).toHaveLength(1)
})

test('a payee that was not paid before is a question, and an offer to another one is not paid', async () => {
  const other = option({ payTo: '0x2222222222222222222222222222222222222222' })
  const { server, agent } = await setUp({ offer: other })
  const question = await questionOf(agent.chat())
  expect(question).toMatchObject({ kind: 'payee', payTo: other.payTo, amountMicroUsd: 5_000_000n })
  expect(server.books.signatures).toEqual([])
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  await agent.chat()
  expect(server.books.signatures).toHaveLength(1)
})

test('an offer on another chain is refused', async () => {
  const { server, agent } = await setUp({ offer: option({ network: 'eip155:1' }) })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 0n })
  expect(server.books.signatures).toEqual([])
})

test('a redirect to another host carries neither sign-in nor payment there', async () => {
  const other = await littleServer((_, response) => answerJson(response, 200, {}))
  closing.push(other.close)
  const redirect = (path: string) => async (seen: { path: string }, response: import('node:http').ServerResponse) => {
    if (!seen.path.endsWith(path)) return false
    response.writeHead(307, { location: `${other.baseUrl}${path}` }).end()
    return true
  }
  for (const path of ['/chat/completions', '/x402/top-up']) {
    const { agent } = await setUp({ instead: redirect(path) })
    await failureOf(agent.chat())
  }
  expect(other.seen).toEqual([])
})

test('a lost answer to a payment: the same bytes again, one signature, one credit', async () => {
  const { server, agent } = await setUp({ payments: ['lose after', 'credit'] })
  await agent.chat()
  expect(server.books.signatures).toHaveLength(2)
  expect(new Set(server.books.signatures).size).toBe(1)
  expect(server.books.credit).toBeCloseTo(4.999)
})

test('a refused payment is told, and no other one is signed', async () => {
  const { server, agent } = await setUp({ payments: ['reject'] })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  await failureOf(agent.chat())
  expect(new Set(server.books.signatures).size).toBe(1)
})

test('an API key is never topped up, and says who can', async () => {
  const { server, agent } = await setUp({}, { apiKey: canaryApiKey })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 0n, next: expect.stringContaining('add credit') })
  expect(server.countOf('/x402/top-up')).toBe(0)
})

test('with nothing that pays, paid calls name the command and nothing is sent', async () => {
  const { server, agent } = await setUp({}, { walletKey: undefined })
  expect((await failureOf(agent.chat())).next).toContain('farebox wallet create')
  expect(server.seen).toEqual([])
})

test('a call above the asking threshold is asked for, above its cap refused', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  expect(question).toMatchObject({ kind: 'spend', amountMicroUsd: 2_000_000n })
  expect(server.countOf('/video/queue')).toBe(0)
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  expect((await agent.video()).paid.chargedMicroUsd).toBe(2_000_000n)
  await questionOf(agent.video('another cat'))
  const dear = await setUp({ credit: 20, quote: 11 })
  await failureOf(dear.agent.video())
  expect(dear.server.countOf('/video/queue')).toBe(0)
})

test('a chat that cannot be priced is asked for', async () => {
  const { server, agent } = await setUp({
    credit: 5,
    instead: (seen, response) => {
      if (!seen.path.includes('/models')) return false
      const model = { id: 'm', object: 'model', owned_by: 'x', type: 'text', model_spec: { privacy: 'private' } }
      answerJson(response, 200, { object: 'list', type: 'all', data: [model] })
      return true
    },
  })
  expect(await questionOf(agent.chat())).toMatchObject({ kind: 'spend', amountMicroUsd: null })
  expect(server.books.chats).toBe(0)
})

test('consent: asked with the whole text, agreed, and sent along for this request and this text only', async () => {
  let text = policyText
  const { server, agent } = await setUp({ credit: 5, asksConsent: true, policyText: () => text })
  const question = (await questionOf(agent.video())) as ConsentQuestion
  expect(question).toMatchObject({ kind: 'consent', provider: 'demo', policyText, faceMediaRoles: ['image'] })
  expect(server.books.videos).toBe(0)
  const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const
  await agent.host.answer(question.approvalId, yes)

  const other = await questionOf(agent.video('a dog'))
  expect(other.approvalId).not.toBe(question.approvalId)
  text = `${policyText} And more.`
  const changed = await questionOf(agent.video())
  expect(changed.approvalId).not.toBe(question.approvalId)
  text = policyText

  expect((await agent.video()).job.state).toBe('running')
  expect(JSON.parse(server.seen.at(-1)?.body ?? '').consents).toEqual({
    demo: { confirmed_terms_and_privacy: true, confirmed_legal_right: true, confirmed_screening_acknowledged: true },
  })
  expect(server.books.videos).toBe(1)
})

test('consent: a box that is not ticked is a no, and is not asked again', async () => {
  const { server, agent } = await setUp({ credit: 5, asksConsent: true })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, {
    kind: 'consent',
    termsAndPrivacy: true,
    legalRight: false,
    screeningAcknowledged: true,
  })
  expect(await failureOf(agent.video())).toMatchObject({ charged: 0n })
  expect(server.books.videos).toBe(0)
})

test('an approval of a price survives a consent that is asked for after it', async () => {
  const { agent } = await setUp({ credit: 20, quote: 2, asksConsent: true })
  const spend = await questionOf(agent.video())
  await agent.host.answer(spend.approvalId, { kind: 'approve', approved: true })
  const consent = await questionOf(agent.video())
  expect(consent.kind).toBe('consent')
  const yes = { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true } as const
  await agent.host.answer(consent.approvalId, yes)
  expect((await agent.video()).job.state).toBe('running')
})

test('one yes is for one purchase: `again` asks again, and goes on asking', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  await agent.video()
  for (let attempt = 0; attempt < 4; attempt++) await questionOf(agent.video('a cat', true))
  expect(server.books.videos).toBe(1)
})

test('the same call at once is bought once; again buys another', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  const both = await Promise.all([agent.chat(), agent.chat()])
  expect(both.map(({ answer }) => answer.choices[0]?.message.content)).toEqual(['answer 1', 'answer 1'])
  expect(both.map(({ paid }) => paid.isEarlierCall ?? false)).toEqual([false, true])
  await agent.chat('hi', true)
  expect(server.books.chats).toBe(2)
})

test('an answer that nobody waited for is kept, and the next same call has it for nothing', async () => {
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  let answerNow = () => {}
  const held = new Promise<void>(resolve => {
    answerNow = resolve
  })
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
  expect(server.books.chats).toBe(1)
})

test.each([
  ['the charge is not known', chargeUnknown()],
  ['the books cannot be reached', booksUnreachable()],
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
  expect(server.books.chats).toBe(0)
  await agent.chat('hi', true)
  expect(server.books.chats).toBe(1)
})

test('an answer lost on the way is told, and bought again only on purpose', async () => {
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
  expect(server.books.chats).toBe(0)
  await agent.chat('hi', true)
  expect(server.books.chats).toBe(1)
})

test('a paid answer that cannot be written down is not bought again by itself', async () => {
  const { server, agent } = await setUp({ credit: 20, quote: 2 })
  const question = await questionOf(agent.video())
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  const { jobRows } = agent.desks
  const insert = jobRows.insert.bind(jobRows)
  jobRows.insert = () => {
    throw new Error('disk full')
  }
  await expect(agent.video()).rejects.toThrow('disk full')
  jobRows.insert = insert
  expect(await failureOf(agent.video())).toMatchObject({ charged: 'unknown' })
  expect((await agent.core.approvals.get(question.approvalId))?.usedBy).not.toBe(null)
  expect(server.books.videos).toBe(1)
})

test('a call that an earlier start with our number left planned is taken over', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  await agent.chat()
  const owner = `${process.pid}@${hostname()}#another-start`
  agent.core.state.database().prepare(`UPDATE paid_calls SET state = 'planned', owner = ?`).run(owner)
  await agent.chat()
  expect(server.books.chats).toBe(2)
})

const laterTries: [rule: string, state: string, atMinutes: number[], chats: number][] = [
  ['sent by a process that ended is the same one while it may be worked on', 'sent', [19], 1],
  ['sent by a process that ended stays the same one after a look', 'sent', [9, 18], 1],
  ['sent by a process that ended is over after an hour', 'sent', [61], 2],
  ['planned by a process that ended is taken over', 'planned', [9], 2],
  ['that failed buys at once', 'failed', [0], 2],
  ['whose answer nobody has is given for nothing for a day', 'answered', [23 * 60], 1],
  ['whose answer nobody has is over after a day', 'answered', [25 * 60], 2],
]

test.each(laterTries)('a call %s', async (_rule, state, atMinutes, chats) => {
  const clock = manualClock()
  const startedAtMs = clock.nowMs
  const { server, agent } = await setUp({ credit: 5 }, { clock })
  await agent.chat()
  const owner = `${process.pid}@${hostname()}#another-start`
  agent.core.state.database().prepare('UPDATE paid_calls SET state = ?, owner = ?').run(state, owner)
  for (const minutes of atMinutes) {
    clock.nowMs = startedAtMs + minutes * 60_000
    const isLost = state === 'sent' && chats === 1
    if (isLost) expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
    else expect((await agent.chat()).paid.isEarlierCall ?? false).toBe(chats === 1)
  }
  expect(server.books.chats).toBe(chats)
})

test('a call that was planned ten minutes ago is no longer taken over', async () => {
  const clock = manualClock()
  const { agent } = await setUp({ credit: 5 }, { clock })
  await agent.chat()
  const rows = agent.core.state.database()
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
  const stateFolder = temporaryFolder()
  const { server, agent } = await setUp({ credit: 5 }, { stateFolder })
  const { job } = await agent.video()
  expect((await agent.video()).paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  const other = await open({ baseUrl: server.baseUrl, stateFolder })
  expect((await other.video()).job.jobId).toBe(job.jobId)
  expect(await other.context().jobs.list(10)).toHaveLength(1)
  expect(server.books.videos).toBe(1)
  expect((await other.video('a cat', true)).job.jobId).not.toBe(job.jobId)
})

test('a consent that did not come from a person is not sent', async () => {
  const { server, agent } = await setUp({ credit: 5 })
  const consents = {
    demo: { confirmed_terms_and_privacy: true, confirmed_legal_right: true, confirmed_screening_acknowledged: true },
  } as const
  const body = { model: 'm', prompt: 'x', duration: '5s', consents } as const
  await agent.context().start(queueVideo, { params: undefined, query: undefined, body })
  expect(JSON.parse(server.seen.at(-1)?.body ?? '')).not.toHaveProperty('consents')
})
