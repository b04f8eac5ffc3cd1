import { expect, onTestFinished, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { type PretendOptions, pretendService, textModel } from './pretend-service.ts'

/** Two agents of one machine at a service without a list of limits. */
async function twoAgents(instead: NonNullable<PretendOptions['instead']>) {
  const service = await pretendService({ credit: 1, instead })
  onTestFinished(service.close)
  const dataFolder = temporaryFolder()
  const open = () => openAgent({ baseUrl: service.baseUrl, apiKey: canaryApiKey, dataFolder })
  const [one, other] = [await open(), await open()]
  onTestFinished(one.close)
  onTestFinished(other.close)
  return { service, one, other }
}

test('of a service without a list, an agent knows the limits that answers told any agent of the machine', async () => {
  const { one, other } = await twoAgents((_, response) => {
    response.setHeader('x-ratelimit-limit-requests', '20')
    response.setHeader('x-ratelimit-remaining-requests', '7')
    return false
  })
  await one.chat()
  const { source, models, tier } = await other.context().limits()
  expect(models).toMatchObject([{ model: 'm', requestsPerMinute: 20, tokensPerMinute: null, requestsLeft: 7 }])
  expect({ source, tier }).toEqual({ source: 'answers', tier: null })
})

test('of a service without limit headers nothing is made up', async () => {
  const { one } = await twoAgents(() => false)
  await one.chat()
  expect(await one.context().limits()).toEqual({ source: 'answers', tier: null, models: [] })
})

test.each([
  { pays: 'a wallet', options: {}, source: 'answers' },
  { pays: 'an API key', options: { apiKey: canaryApiKey }, source: /key/ },
])('a service that lists limits for keys alone, asked by $pays', async ({ options, source }) => {
  const service = await pretendService({
    instead: ({ path }, response) => {
      if (!path.endsWith('/api_keys/rate_limits')) return false
      answerJson(response, 401, { error: 'Authentication failed' })
      return true
    },
  })
  const agent = await openAgent({ baseUrl: service.baseUrl, ...options })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  const view = agent.context().limits()
  if (typeof source === 'string') expect(await view).toMatchObject({ source, models: [] })
  else await expect(view).rejects.toThrow(source)
})

test('failures of one agent hold back the others of the machine, and say until when', async () => {
  const { service, one, other } = await twoAgents((seen, response) => {
    if (!seen.path.endsWith('/chat/completions')) return false
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"no"}')
    return true
  })
  for (let count = 0; count < 20; count++) await one.chat(`prompt ${count}`).catch(() => {})
  const sent = service.seen.length
  const failure = await other.chat().catch(error => error)
  expect(failure).toMatchObject({ facts: { happened: expect.stringContaining('was not sent'), charged: 0n } })
  expect(failure.facts.retryAtMs).toBeGreaterThan(other.clock.now())
  expect(service.seen).toHaveLength(sent)
})

/** A list of limits with the credit of the moment, and what each model has left. */
const listing =
  (credit: () => number): NonNullable<PretendOptions['instead']> =>
  (seen, response) => {
    if (seen.path.endsWith('/chat/completions')) {
      const { model } = JSON.parse(seen.body)
      response.setHeader('x-ratelimit-limit-requests', '20')
      response.setHeader('x-ratelimit-remaining-requests', model === 'm' ? '7' : '19')
      return false
    }
    if (!seen.path.endsWith('/api_keys/rate_limits')) return false
    const rateLimits = ['n', 'm', 'o'].map(apiModelId => ({ apiModelId, rateLimits: [{ amount: 20, type: 'RPM' }] }))
    const data = {
      ...{
        accessPermitted: true,
        apiTier: { id: credit() > 0 ? 'paid' : 'free', isCharged: true },
        keyExpiration: null,
      },
      ...{ balances: { USD: credit() }, nextEpochBegins: '2026-11-24T00:00:00.000Z', rateLimits },
    }
    answerJson(response, 200, { data })
    return true
  }

test('the tier is that of now, also after a payment', async () => {
  const service = await pretendService({
    // What the service has on its ledger when it is asked.
    instead: (...asked) => listing(() => service.ledger.credit)(...asked),
  })
  const agent = await openAgent({ baseUrl: service.baseUrl, settings: { askAboveUsd: '20' } })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  const tier = async () => (await agent.context().limits()).tier
  expect(await tier()).toBe('free')
  await agent.context().wallet.topUp(microUsd(5_000_000))
  expect(await tier()).toBe('paid')
})

test('the remaining limit is reported for each model, whichever was called last', async () => {
  const service = await pretendService({
    credit: 5,
    instead: listing(() => 5),
    alsoListed: [{ ...textModel, id: 'n' }],
  })
  const agent = await openAgent({ baseUrl: service.baseUrl, apiKey: canaryApiKey })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  for (const model of ['m', 'n']) {
    const body = { model, messages: [{ role: 'user' as const, content: 'hi' }] }
    await agent.context().call(createChatCompletion, { params: undefined, query: undefined, body }, {})
  }
  const { models } = await agent.context().limits()
  expect(models.map(({ model, requestsLeft }) => [model, requestsLeft])).toEqual([
    ['n', 19],
    ['m', 7],
    ['o', null],
  ])
})

test('a list is reused for a second, unless this process has called since', async () => {
  const service = await pretendService({ credit: 5, instead: listing(() => 5) })
  const clock = manualClock()
  const pass = (ms: number) => {
    clock.nowMs += ms
  }
  const agent = await openAgent({ baseUrl: service.baseUrl, apiKey: canaryApiKey, clock })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  const context = agent.context()
  const listsRead = () => service.seen.filter(({ path }) => path.endsWith('/api_keys/rate_limits')).length
  const steps = [
    { does: 'the first', before: () => {}, read: 1 },
    { does: 'at once again', before: () => {}, read: 1 },
    { does: 'almost a second later', before: () => pass(999), read: 1 },
    { does: 'a second later', before: () => pass(1), read: 2 },
    { does: 'after a call', before: () => agent.chat(), read: 3 },
    { does: 'after the clock was set back', before: () => pass(-5_000), read: 4 },
  ]
  for (const { does, before, read } of steps) {
    await before()
    await context.limits()
    expect({ does, read: listsRead() }).toEqual({ does, read })
  }
})
