import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Windows } from '#access/limits/windows.ts'
import {
  contentViolation,
  contextTooLong,
  inferenceFailed,
  invalidRequest,
  modelOffline,
} from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { textLimits } from '#contract/limits.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { ScriptedChat, used, words } from './chat-script.ts'
import { textModel } from './models/example-models.ts'
import { type OpenedService, openService, TestClock } from './open-service.ts'
import { walk, walkedRequests } from './walk-operations.ts'

/** Brief §8.4: every answer to an identified caller, and every top-up, shows the limits. */

const requests = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests']
const tokens = ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens']

const headersFor = ({ limit }: Operation) => [...requests, 'x-ratelimit-type', ...(limit === 'text' ? tokens : [])]

const shown = (answer: Response) => [...answer.headers.keys()].filter(name => name.startsWith('x-ratelimit-')).sort()

describe('§8.4 every answer shows the limits', () => {
  let service: OpenedService
  let key: string
  beforeAll(async () => {
    service = await openService()
    key = await service.key(1)
  })
  afterAll(() => service.close())

  test.each(walkedRequests)('%s with %s', async (_id, _sent, operation, body) => {
    const answer = await walk(service, key, operation, body)
    expect([answer.status, shown(answer)]).toEqual([answer.status, headersFor(operation).sort()])
  })

  test('a refusal before the count counts nothing, and an unknown model has the strictest tier', async () => {
    service.clock.pass(60_000)
    const refused = () => service.post('/chat/completions', { model: 'none', messages: [] }, key)
    const figures = async () => {
      const { headers } = await refused()
      return [...requests.slice(0, 2), ...tokens.slice(0, 2)].map(name => Number(headers.get(name)))
    }
    const { requestsPerMinute, tokensPerMinute } = textLimits.default.L
    for (let times = 0; times < 2; times++)
      expect(await figures()).toEqual([requestsPerMinute, requestsPerMinute, tokensPerMinute, tokensPerMinute])
  })

  test('a refusal that names a model shows the state of that model’s limits', async () => {
    service.clock.pass(60_000)
    const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }
    expect((await service.post('/chat/completions', hello, key)).status).toBe(200)
    const refused = await service.post('/chat/completions', { ...hello, temperature: 'hot' }, key)
    expect([refused.status, refused.headers.get('x-ratelimit-remaining-requests')]).toEqual([400, '499'])
  })

  test('without a credential, no count is reported', async () => {
    expect(shown(await service.request('/api/v1/models'))).toEqual([])
    expect(shown(await service.request('/api/v1/models', { headers: { authorization: 'Bearer nothing' } }))).toEqual([])
  })

  test('an answer that is given again to its key shows them too', async () => {
    service.clock.pass(60_000)
    const send = () =>
      service.request('/api/v1/chat/completions', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          'idempotency-key': 'the-same',
        },
        body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }),
      })
    const [first, again] = [await send(), await send()]
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(shown(again)).toEqual(shown(first))
    expect(again.headers.get('x-ratelimit-remaining-requests')).toBe(
      first.headers.get('x-ratelimit-remaining-requests'),
    )
  })
})

describe('tokens of a request that is refused', () => {
  let service: OpenedService
  afterEach(() => service.close())

  const large = { model: 'full', messages: [{ role: 'user', content: 'x'.repeat(40_000) }], max_tokens: 100 }
  const whole = String(textLimits.default.XS.tokensPerMinute)

  const remaining = (answer: Response) => answer.headers.get('x-ratelimit-remaining-tokens')

  /** What another request, which nothing counts, is told afterwards. */
  const left = async (key: string) =>
    remaining(await service.post('/chat/completions', { ...large, temperature: 'hot' }, key))

  test.each<[refusal: string, error: ServiceError]>([
    ['400 of the engine', invalidRequest({ error: 'no' })],
    ['400 for its context', contextTooLong({ error: { message: 'm', type: 't', param: null, code: null } })],
    ['422 of the engine', contentViolation({ error: 'no' })],
    ['500 of the engine', inferenceFailed()],
    ['503 of the engine', modelOffline()],
  ])('come back after a %s', async (_refusal, error) => {
    for (const stream of [false, true]) {
      const engine = new ScriptedChat()
      engine.play([{ fail: error }])
      service = await openService({ models: () => [textModel({ id: 'full', tier: 'XS', engine })] })
      const key = await service.key(10)
      const refused = await service.post('/chat/completions', { ...large, stream }, key)
      expect([refused.status, remaining(refused), await left(key)]).toEqual([error.status, whole, whole])
      expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('499')
      if (!stream) await service.close()
    }
  })

  test('come back after too little credit, and after a context that is too long', async () => {
    const engine = new ScriptedChat()
    service = await openService({
      models: () => [textModel({ id: 'full', tier: 'XS', engine, contextTokens: 500, maximumCompletionTokens: 500 })],
    })
    const key = await service.key(10)
    const tooLong = await service.post('/chat/completions', large, key)
    expect([tooLong.status, remaining(tooLong), await left(key)]).toEqual([400, whole, whole])
    const poor = await service.key(0)
    const refused = await service.post(
      '/chat/completions',
      { ...large, messages: [{ role: 'user', content: 'hi' }] },
      poor,
    )
    expect([refused.status, remaining(refused), await left(poor)]).toEqual([402, whole, whole])
  })
})

test('limits are read once where nothing was counted, and never where they were', async () => {
  const windows = new Windows()
  let reads = 0
  const counted = {
    take: (...given: Parameters<Windows['take']>) => windows.take(...given),
    correct: (...given: Parameters<Windows['correct']>) => windows.correct(...given),
    read: (...given: Parameters<Windows['read']>) => {
      reads++
      return windows.read(...given)
    },
  }
  const clock = new TestClock()
  const sharedLimits = {
    windows: counted,
    block: { check() {}, count: async () => false, blocked: () => [], lift() {} },
    isFirst: async () => true,
    close() {},
  }
  const service = await openService({ clock, sharedLimits })
  try {
    const key = await service.key(1)
    const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }
    for (const body of [hello, { ...hello, stream: true }])
      await (await service.post('/chat/completions', body, key)).text()
    await service.request('/api/v1/models', { headers: { authorization: `Bearer ${key}` } })
    expect(reads).toBe(0)
    await service.post('/chat/completions', { model: 'none' }, key)
    expect(reads).toBe(1)
  } finally {
    await service.close()
  }
})

/** Engines may report any total; prices and the limit count the prompt and the answer. */
test.each<[rule: string, stream: boolean, total: number]>([
  ['a total of zero', false, 0],
  ['a total of zero in a stream', true, 0],
  ['an endless total', false, Number.MAX_SAFE_INTEGER],
  ['an endless total in a stream', true, Number.MAX_SAFE_INTEGER],
])(
  '§8.4 a minute’s tokens are those of prompt and answer, whatever the engine adds up: %s',
  async (_, stream, total) => {
    const engine = new ScriptedChat()
    const model = textModel({ id: 'scripted', tier: 'XS', engine })
    const service = await openService({ models: () => [model] })
    const key = await service.key(10)
    const body = { model: 'scripted', messages: [{ role: 'user', content: 'hi' }], stream }
    engine.play([...words('Hello'), { usage: { ...used(900, 100), total_tokens: total } }])
    await (await service.post('/chat/completions', body, key)).text()
    const refused = await service.post('/chat/completions', { ...body, messages: [] }, key)
    const left = Number(refused.headers.get('x-ratelimit-remaining-tokens'))
    expect(textLimits.default.XS.tokensPerMinute - left).toBe(1_000)
    await service.close()
  },
)
