import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { BodyRoom, WalletSlots } from '#access/limits/concurrency.ts'
import { RequestGuards } from '#access/limits/guards.ts'
import { LimitLog } from '#access/limits/limit-log.ts'
import type { AccountLimits, LimitSettings } from '#access/limits/limit-rules.ts'
import { Limiter } from '#access/limits/limiter.ts'
import { Windows } from '#access/limits/windows.ts'
import { type LimitName, type PlanName, textTiers } from '#contract/limits.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { RateLimitLog, RateLimits } from '#contract/operations/rate-limits.ts'
import type { KeyPrincipal } from '#ledger/accounts/principal.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { ScriptedChat, used, words } from '../../service/chat-script.ts'
import { textModel } from '../../service/models/example-models.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'

const engine = new ScriptedChat()
engine.play([...words('one'), { usage: used(2, 1) }])

const tierL = textModel({ id: 'text-L', tier: 'L', engine })

const modelsOf: (engines: Parameters<typeof demoModels>[0]) => Model[] = engines => [
  ...textTiers.map(tier => textModel({ id: `text-${tier}`, tier, engine, traits: [] })),
  ...demoModels(engines).filter(({ type }) => type !== 'text'),
]

/** By the first operation that each limit counts. */
const operationOf = (limit: LimitName): Operation => {
  const found = (operations as readonly Operation[]).find(each => each.limit === limit)
  if (!found) throw new Error(`No operation is counted as ${limit}.`)
  return found
}

/** Which operation runs a model is said here once more, so that a mistake in the listing shows. */
const limitsOfTypes: Record<Model['type'], LimitName> = {
  text: 'text',
  embedding: 'embedding',
  image: 'image',
  inpaint: 'image',
  upscale: 'image',
  background: 'image',
  tts: 'audio',
  asr: 'audio',
  music: 'audio.queue',
  video: 'video.queue',
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

describe.each<[name: string, plan: PlanName, limits: LimitSettings]>([
  ['the default plan', 'default', {}],
  ['the partner plan', 'partner', {}],
  [
    'settings of the operator',
    'default',
    {
      types: { image: { requestsPerMinute: 7 } },
      apiKey: { text: { requestsPerMinute: 30 } },
      global: { embedding: { requestsPerMinute: 11 } },
      models: { 'text-S': { tokensPerMinute: 100 } },
    },
  ],
])('with %s', (_name, plan, limits) => {
  let service: OpenedService
  let listed: RateLimits['data']['rateLimits']
  let key: string
  let models: Model[] = []
  beforeAll(async () => {
    service = await openService({
      settings: { plan, limits },
      models: engines => {
        models = modelsOf(engines as Parameters<typeof demoModels>[0])
        return models
      },
    })
    key = await service.key(1)
    const answer = await service.request('/api/v1/api_keys/rate_limits', bearer(key))
    listed = RateLimits.parse(await answer.json()).data.rateLimits
  })
  afterAll(() => service.close())

  test('every model is let through exactly as often as is listed, then refused with the headers that say so', async () => {
    expect(listed.map(({ apiModelId }) => apiModelId)).toEqual(models.map(({ id }) => id))
    const { clock, store } = service
    const log = new LimitLog({ store, clock, onFailure: () => undefined })
    const limiter = new Limiter({ store: new Windows(), clock, settings: () => limits })
    const block = new AbuseBlock(clock)
    const rooms = { block, slots: new WalletSlots(clock), bodies: new BodyRoom(clock) }
    const guards = new RequestGuards({ ...rooms, limiter, log })
    const principal: KeyPrincipal = { kind: 'key', account: 'ada', keyId: 'k', plan }
    for (const model of models) {
      const [requests, tokens] = listed.find(({ apiModelId }) => apiModelId === model.id)?.rateLimits ?? []
      const demand = { operation: operationOf(limitsOfTypes[model.type]), model, tokens: 0 }
      const take = (count = 0) => guards.take({ principal, address: '' }, { ...demand, tokens: count })
      for (let sent = 0; sent < (requests?.amount ?? 0); sent++) await take()
      const refused = { 'x-ratelimit-limit-requests': `${requests?.amount}`, 'x-ratelimit-remaining-requests': '0' }
      await expect(take(), model.id).rejects.toMatchObject({
        status: 429,
        headers: { ...refused, 'retry-after': '60' },
      })
      clock.pass(60_000)
      if (tokens) {
        await take(tokens.amount)
        const spent = { 'x-ratelimit-limit-tokens': `${tokens.amount}`, 'x-ratelimit-remaining-tokens': '0' }
        await expect(take(1), model.id).rejects.toMatchObject({ status: 429, headers: spent })
        clock.pass(60_000)
      }
    }
  })
})

test('through the front door: the nearest setting of an account, and the type of limit that was met', async () => {
  const accounts: Record<string, AccountLimits> = {}
  const limits = {
    accounts,
    types: { text: { requestsPerMinute: 4 } },
    apiKey: { text: { requestsPerMinute: 61 } },
    global: { text: { requestsPerMinute: 63 } },
  }
  const service = await openService({ models: () => [tierL], settings: { limits } })
  const [ada, bob, eve] = await Promise.all([service.key(1), service.key(1), service.key(1)])
  const accountOf = async (key: string) => (await service.service.keys.find(key))?.account ?? ''
  accounts[await accountOf(ada)] = { models: { [tierL.id]: { requestsPerMinute: 2 } } }
  accounts[await accountOf(bob)] = { plan: 'partner' }
  const chat = { model: tierL.id, messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }
  const countOf = async (key: string) => {
    for (let sent = 0; ; sent++) {
      const answer = await service.post('/chat/completions', chat, key)
      if (answer.status === 429) return `${sent} ${answer.headers.get('x-ratelimit-type')}`
      expect(answer.status).toBe(200)
    }
  }
  expect([await countOf(ada), await countOf(bob), await countOf(eve)]).toEqual(['2 user', '60 user', '1 global'])
  service.clock.pass(60_000)
  accounts[await accountOf(bob)] = { types: { text: { requestsPerMinute: 62 } } }
  expect([await countOf(eve), await countOf(bob)]).toEqual(['4 user', '59 global'])
  service.clock.pass(60_000)
  expect(await countOf(bob)).toBe('61 api_key')
  const shown = async (key: string) =>
    RateLimits.parse(await (await service.request('/api/v1/api_keys/rate_limits', bearer(key))).json()).data
  expect((await shown(bob)).rateLimits[0]?.rateLimits[0]).toEqual({ amount: 61, type: 'RPM' })
  accounts[await accountOf(bob)] = { plan: 'partner' }
  expect((await shown(bob)).apiTier).toEqual({ id: 'partner', isCharged: true })
  await service.close()
})

test('the log is the 50 newest of the account, at both of its addresses', async () => {
  const service = await openService()
  const key = await service.key(1)
  const account = (await service.service.keys.find(key))?.account ?? ''
  const atMs = service.clock.now()
  const met = (of: string, model: string): Op => ({
    ...{ op: 'limit', account: of, key: null, model, tier: 'XS', type: 'RPM', atMs },
  })
  const ops = Array.from({ length: 55 }, (_, index) => met(account, `model ${index}`))
  const stranger = met('somebody else', 'theirs')
  await service.store.commit([{ id: uuidV7(atMs), ops: [...ops, stranger] }])
  const newest = Array.from({ length: 50 }, (_, index) => `model ${54 - index}`)
  for (const path of ['/api_keys/rate_limit_logs', '/api_keys/rate_limits/log']) {
    const log = RateLimitLog.parse(await (await service.request(`/api/v1${path}`, bearer(key))).json())
    expect(log.data.map(({ modelId }) => modelId)).toEqual(newest)
  }
  await service.close()
})
