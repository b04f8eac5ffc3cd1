import { expect, onTestFinished, test } from 'vitest'
import { longCallMs } from '#agent/bounds.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import type { ApprovalRequired } from '#toolkit/approval.ts'
import { canarySolanaSeed } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { solanaKey } from '../wallet/sample-solana.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { failureOf } from './outcome-of.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

async function setUp(service: PretendOptions = {}, agent: Partial<AgentSetUp> = {}) {
  const server = await pretendService({ credit: 5, ...service })
  onTestFinished(server.close)
  const open = async (more: Partial<AgentSetUp> = {}) => {
    const opened = await openAgent({ baseUrl: server.baseUrl, ...agent, ...more })
    onTestFinished(opened.close)
    return opened
  }
  return { server, open, agent: await open() }
}

/** Keys of the requests for paid work, in the order in which they came. */
const keysOf = (server: Awaited<ReturnType<typeof pretendService>>, path: string) =>
  server.seen.filter(seen => seen.path.endsWith(path)).map(seen => seen.headers['idempotency-key'])

test('an answer that was lost comes again in the same call, under the same key, and is charged once', async () => {
  const { server, agent } = await setUp({ takesKeys: true, losesAnswers: 1 })
  const { answer, paid } = await agent.chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(paid.chargedMicroUsd).toBe(1_000n)
  expect(server.ledger).toMatchObject({ chats: 1, credit: expect.closeTo(4.999) })
  const [first, second] = keysOf(server, '/chat/completions')
  expect(first).toMatch(/^call_/)
  expect(second).toBe(first)
})

test('what a video cost is its quote where only a repeated answer came', async () => {
  const { server, agent } = await setUp({ takesKeys: true, losesAnswers: 1 })
  expect((await agent.video()).paid).toMatchObject({ chargedMicroUsd: 200_000n })
  expect(server.ledger.videos).toBe(1)
})

test('each call has a key of its own, and `again` has another', async () => {
  const { server, agent } = await setUp({ takesKeys: true })
  for (const prompt of ['one', 'two']) await agent.chat(prompt)
  await agent.chat('two', true)
  expect(new Set(keysOf(server, '/chat/completions')).size).toBe(3)
})

test('a service that does not say that it takes keys is sent none, and asked once', async () => {
  const { server, agent } = await setUp({ losesAnswers: 1 })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  expect(keysOf(server, '/chat/completions')).toEqual([undefined])
})

/** A call whose answers were all lost, and another agent on the same folder, which finds its row. */
async function lostCall(options: PretendOptions, agent: Partial<AgentSetUp> = {}) {
  const dataFolder = temporaryFolder()
  const calm = await setUp(options, { dataFolder, ...agent })
  const error = await failureOf(calm.agent.chat('lost'))
  expect(error.charged).toBe('unknown')
  return calm
}

test('a user who has approved a call is not asked again for its answer', async () => {
  let isAway = false
  const { server, agent } = await setUp(
    {
      takesKeys: true,
      losesAnswers: 1,
      instead: (seen, response) => {
        if (!isAway || !seen.path.endsWith('/video/queue')) {
          isAway ||= seen.path.endsWith('/video/queue')
          return false
        }
        isAway = false
        answerJson(response, 401, { error: 'Authentication failed' })
        return true
      },
    },
    { settings: { askAboveUsd: '0.1' } },
  )
  const { request: question } = (await agent.video().catch(error => error)) as ApprovalRequired
  await agent.approvals.resolve(question.approvalId, { isApproved: true, by: 'a test' })
  expect(await failureOf(agent.video())).toMatchObject({ charged: 'unknown' })
  expect((await agent.video()).paid).toMatchObject({ chargedMicroUsd: 200_000n })
  expect(server.ledger.videos).toBe(1)
  // Another one is another purchase.
  await expect(agent.video('a dog')).rejects.toThrow('The user has to approve')
})

test('the same call after a restart gets the same answer, and pays nothing more', async () => {
  let isAway = false
  const { server, open } = await lostCall({
    takesKeys: true,
    losesAnswers: 1,
    instead: (seen, response) => {
      if (!isAway || !seen.path.endsWith('/chat/completions')) {
        isAway ||= seen.path.endsWith('/chat/completions')
        return false
      }
      // Nothing that comes before its key is looked up says what became of it.
      isAway = false
      answerJson(response, 401, { error: 'Authentication failed' })
      return true
    },
  })
  const again = await open()
  const { answer, paid } = await again.chat('lost')
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(paid.chargedMicroUsd).toBe(1_000n)
  expect(server.ledger).toMatchObject({ chats: 1, credit: expect.closeTo(4.999) })
  expect(new Set(keysOf(server, '/chat/completions')).size).toBe(1)
})

const minutes = (count: number): number => count * 60_000

/** Services that say nothing of keys when they are asked for their models, although they take them later. */
const withoutKeysAtFirst: [rule: string, status: number, models: object][] = [
  ['whose models could not be read when it was sent', 404, { error: 'no such path' }],
  ['whose service took no keys when it was sent', 200, { object: 'list', type: 'all', data: [] }],
]

test.each(withoutKeysAtFirst)('a call %s is never sent again with a key', async (_rule, status, models) => {
  const clock = manualClock()
  let isFirst = true
  const records = showing(() => [])
  const { server, agent, open } = await setUp(
    {
      ...records,
      takesKeys: true,
      instead: (seen, response) => {
        if (!isFirst || !seen.path.includes('/models')) return records.instead?.(seen, response) ?? false
        answerJson(response, status, models)
        return true
      },
    },
    { clock, dataFolder: temporaryFolder() },
  )
  expect(await failureOf(agent.video())).toMatchObject({ charged: 'unknown' })
  isFirst = false
  const later = await open()
  expect(await failureOf(later.video())).toMatchObject({ happened: expect.stringContaining('no charge yet') })
  expect(server.ledger.videos).toBe(1)
  clock.nowMs += minutes(3)
  const asked: ApprovalRequired = await later.video().catch(error => error)
  await later.host.answer(asked.request.approvalId, { kind: 'approve', approved: true })
  await later.video()
  expect(keysOf(server, '/video/queue')).toEqual([undefined, undefined])
})

test('a repeat under its key needs approval and is capped again if its price has risen', async () => {
  let quote = 0.2
  let sent = 0
  const { server, agent } = await setUp(
    {
      takesKeys: true,
      losesAnswers: 1,
      instead: (seen, response) => {
        if (seen.path.endsWith('/video/quote')) answerJson(response, 200, { quote })
        else if (!seen.path.endsWith('/video/queue') || ++sent !== 2) return false
        else answerJson(response, 401, { error: 'Authentication failed' })
        return true
      },
    },
    { settings: { askAboveUsd: '0.3', maxCallUsd: '3' } },
  )
  expect(await failureOf(agent.video())).toMatchObject({ charged: 'unknown' })
  quote = 2
  const { request: question } = (await agent.video().catch(error => error)) as ApprovalRequired
  expect(question).toMatchObject({ kind: 'spend', amountMicroUsd: 2_000_000n })
  quote = 4
  await expect(agent.video()).rejects.toThrow('more than')
  expect(keysOf(server, '/video/queue')).toHaveLength(2)
})

test('a call that took nearly ten minutes is the same one for ten more, and `again` buys another', async () => {
  const clock = manualClock()
  let isSlow = true
  const { server, agent } = await setUp(
    {
      instead: (seen, response) => {
        if (!isSlow || !seen.path.endsWith('/chat/completions')) return false
        isSlow = false
        clock.nowMs += minutes(9.5)
        response.destroy()
        return true
      },
    },
    { clock },
  )
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  for (let tries = 0; tries < 3; tries++) {
    clock.nowMs += minutes(3)
    expect((await failureOf(agent.chat())).next).toContain('again: true')
  }
  expect(server.ledger.chats).toBe(0)
  await agent.chat('hi', true)
  expect(server.ledger.chats).toBe(1)
  // A try that sends nothing prolongs nothing.
  clock.nowMs += minutes(2)
  await agent.chat()
  expect(server.ledger.chats).toBe(2)
})

test.each([
  ['by the same process', false, false],
  ['by another one, which finds no credit any more', true, false],
  ['also where keys are taken, which are those of one account', true, true],
])('the charge of a call is searched in the account that paid for it, %s', async (_rule, isLater, takesKeys) => {
  const clock = manualClock()
  const { address } = solanaKey
  let credit = 5
  let sent = 0
  const { server, agent, open } = await setUp(
    {
      takesKeys,
      losesAnswers: 1,
      instead: (seen, response) => {
        if (takesKeys && seen.path.endsWith('/chat/completions') && ++sent === 2) {
          answerJson(response, 401, { error: 'Authentication failed' })
          return true
        }
        const isPayer = seen.path.includes(address)
        const pagination = { limit: 50, offset: 0, hasMore: false }
        const transactions = isPayer ? [charge(clock.nowMs)] : []
        const balance = {
          balanceUsd: isPayer ? credit : 0,
          canConsume: true,
          minimumTopUpUsd: 5,
          suggestedTopUpUsd: 10,
        }
        const data = seen.path.includes('/x402/balance/')
          ? { walletAddress: 'w', ...balance }
          : { walletAddress: 'w', currentBalance: 5, transactions, pagination }
        if (!/x402.(balance|transactions)/.test(seen.path)) return false
        answerJson(response, 200, { success: true, data })
        return true
      },
    },
    {
      clock,
      dataFolder: temporaryFolder(),
      solanaKey: encodeBase58(Buffer.concat([canarySolanaSeed, decodeBase58(address, 32) ?? Buffer.alloc(0)])),
    },
  )
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  credit = 0
  clock.nowMs += minutes(5)
  const next = isLater ? await open() : agent
  expect((await failureOf(next.chat())).happened).toContain('show a charge of 0.001 USD since')
  expect(keysOf(server, '/chat/completions')).toHaveLength(takesKeys ? 2 : 1)
})

const charge = (atMs: number) => ({
  id: 't',
  amount: -0.001,
  balanceAfter: 4.999,
  type: 'CHARGE',
  createdAt: new Date(atMs).toISOString(),
  requestId: 'r',
  modelId: 'm',
})

/** Records as a service without keys shows them; the answer of the first chat is lost. */
const showing = (rows: () => object[]): PretendOptions => ({
  losesAnswers: 1,
  instead: (seen, response) => {
    if (!seen.path.includes('/x402/transactions/')) return false
    const pagination = { limit: 50, offset: 0, hasMore: false }
    const data = { walletAddress: 'w', currentBalance: 5, transactions: rows(), pagination }
    answerJson(response, 200, { success: true, data })
    return true
  },
})

test('without keys, a charge in the records of the service keeps the call from being bought twice', async () => {
  const clock = manualClock()
  const { server, agent } = await lostCall(
    showing(() => [charge(clock.nowMs)]),
    { clock },
  )
  clock.nowMs += 5 * 60_000
  const { happened, charged, next } = await failureOf(agent.chat('lost'))
  expect([charged, happened, next]).toEqual([
    'unknown',
    expect.stringContaining('show a charge of 0.001 USD since'),
    expect.stringContaining('again: true'),
  ])
  expect(server.ledger.chats).toBe(1)
})

test('an answer that never ends is cut off, and counts as lost', async () => {
  const { promise: over, resolve: end } = Promise.withResolvers<void>()
  let isDripping = true
  const { server, agent } = await setUp(
    {
      takesKeys: true,
      instead: (seen, response) => {
        if (!isDripping || !seen.path.endsWith('/chat/completions')) return false
        isDripping = false
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write(' ', () => end())
        return true
      },
    },
    { pause: () => over },
  )
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 'unknown' })
  expect(server.countOf('/chat/completions')).toBe(1)
})

test('a call without a caller that could wait for a job is left to the next identical call, and paid once', async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: held, resolve: answerNow } = Promise.withResolvers<void>()
  const { server, agent } = await setUp(
    {
      instead: async seen => {
        if (!seen.path.endsWith('/chat/completions')) return false
        arrive()
        await held
        return false
      },
    },
    { pause: ms => (ms === longCallMs ? arrived : new Promise(() => {})) },
  )
  expect(await failureOf(agent.chat())).toMatchObject({ next: expect.stringContaining('same call again') })
  answerNow()
  await agent.paidCalls.settled()
  const { answer, paid } = await agent.chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  expect(server.ledger.chats).toBe(1)
})

test('an unknown model is reported with similar ids, and no approval is requested', async () => {
  const names = ['llama-3.3-70b', 'llama-3.2-3b', 'qwen-video']
  const { server, agent } = await setUp({
    instead: (seen, response) => {
      if (!seen.path.includes('/models')) return false
      const record = { object: 'model', owned_by: 'x', type: 'text', model_spec: { privacy: 'private' } }
      answerJson(response, 200, { object: 'list', type: 'all', data: names.map(id => ({ id, ...record })) })
      return true
    },
  })
  const body = { model: 'Llama 3.3 70B Instruct', messages: [{ role: 'user' as const, content: 'hi' }] }
  const call = { params: undefined, query: undefined, body }
  expect(await failureOf(agent.context().call(createChatCompletion, call))).toMatchObject({
    happened: 'The service has no model “Llama 3.3 70B Instruct”.',
    charged: 0n,
    next: expect.stringMatching(/^Similar ones are llama-3\.3-70b/),
  })
  expect(server.ledger.chats).toBe(0)
})
