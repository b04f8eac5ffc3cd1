import { expect, test } from 'vitest'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson } from '../client/little-server.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

const closing = closedAfterEach()

/** Two agents of one machine at a service without a list of limits. */
async function twoAgents(instead: NonNullable<PretendOptions['instead']>) {
  const service = await pretendService({ credit: 1, instead })
  closing.push(service.close)
  const stateFolder = temporaryFolder()
  const open = () => openAgent({ baseUrl: service.baseUrl, apiKey: canaryApiKey, stateFolder })
  const [one, other] = [await open(), await open()]
  closing.push(one.close, other.close)
  return { service, one, other }
}

test('of a service without a list, an agent knows the limits that answers told any agent of the machine', async () => {
  const { one, other } = await twoAgents((_, response) => {
    response.setHeader('x-ratelimit-limit-requests', '20')
    response.setHeader('x-ratelimit-remaining-requests', '7')
    return false
  })
  await one.chat()
  const { source, models, creditMicroUsd } = await other.context().limits()
  expect(models).toEqual([{ model: 'm', requestsPerMinute: 20, tokensPerMinute: null }])
  expect({ source, creditMicroUsd }).toEqual({ source: 'answers', creditMicroUsd: null })
})

test('of a service without limit headers nothing is made up', async () => {
  const { one } = await twoAgents(() => false)
  await one.chat()
  expect(await one.context().limits()).toEqual({ source: 'answers', creditMicroUsd: null, models: [], window: null })
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
  closing.push(service.close, agent.close)
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
  expect(failure).toMatchObject({ facts: { happened: expect.stringContaining('held back'), charged: 0n } })
  expect(failure.facts.retryAtMs).toBeGreaterThan(other.core.clock.now())
  expect(service.seen).toHaveLength(sent)
})
