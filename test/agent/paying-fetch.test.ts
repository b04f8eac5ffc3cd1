import { afterEach, describe, expect, test } from 'vitest'
import type { Fetch } from '#agent/fetch/fetch.ts'
import { refusalHeader } from '#agent/fetch/fetch.ts'
import { type FetchRules, payingFetch } from '#agent/fetch/paying-fetch.ts'
import { rateLimitExceeded, tooManyFailures } from '#contract/errors.ts'
import type { PersonAnswer, Question } from '#toolkit/person.ts'
import { type OpenAgent, openAgent } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Opening = PretendOptions &
  Pick<OpenAgent, 'settings'> & { rules?: Partial<Omit<FetchRules, 'models' | 'receipts'>> }

async function open({ rules, settings, ...options }: Opening = {}) {
  const server = await pretendService({ credit: 5, ...options })
  const agent = await openAgent({ baseUrl: server.baseUrl, ...(settings ? { settings } : {}) })
  closing.push(server.close, agent.close)
  const fetch = payingFetch(agent.core, { ...agent.desks, takesConsents: true, ...rules })
  return { server, fetch, agent }
}

type Opened = Awaited<ReturnType<typeof open>>

const post = ({ fetch, server }: Pick<Opened, 'fetch' | 'server'>, path: string, body: object, headers = {}) =>
  fetch(`${server.baseUrl}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })

const messages = [{ role: 'user', content: 'hi' }]
const chat = { model: 'm', messages }
const video = { model: 'm', prompt: 'a cat', duration: '5s', image_url: 'https://x.example/a.png' }

/** Answers every question the same, and keeps them. */
function person(answer: PersonAnswer) {
  const asked: Question[] = []
  const ask = (question: Question) => {
    asked.push(question)
    return answer
  }
  return { asked, ask }
}
const yes: PersonAnswer = { kind: 'approve', approved: true }
const no: PersonAnswer = { kind: 'declined' }
const ticked: PersonAnswer = {
  kind: 'consent',
  termsAndPrivacy: true,
  legalRight: true,
  screeningAcknowledged: true,
}

test.each([
  ...['authorization', 'sign-in-with-x', 'x-sign-in-with-x', 'payment-signature', 'x-402-payment', 'x-payment'],
  ...['cookie', 'proxy-authorization', 'forwarded', 'x-forwarded-host', 'x-http-method-override'],
])('the header %s of a program is not passed on: who signs in and pays is the agent', async name => {
  const opened = await open()
  await (await post(opened, '/chat/completions', chat, { [name]: 'of the program', 'x-other': 'passed' })).text()
  const sent = opened.server.seen.find(({ path }) => path.endsWith('/chat/completions'))
  expect(sent?.headers).toMatchObject({ 'x-other': 'passed' })
  expect(Object.values(sent?.headers ?? {})).not.toContain('of the program')
})

test('another origin gets neither a credential nor a request', async () => {
  const { fetch } = await open()
  const other = await pretendService()
  closing.push(other.close)
  await expect(post({ fetch, server: other }, '/chat/completions', chat)).rejects.toThrow(/only/)
  expect(other.seen).toEqual([])
})

describe('a call is held against the caps before it is sent', () => {
  const refused = async (answer: Response) => ({
    status: answer.status,
    header: answer.headers.get(refusalHeader),
    again: answer.headers.get('x-should-retry'),
    ...((await answer.json()) as { error: { type: string; code: string; message: string } }),
  })

  test.each([
    {
      rule: 'above the cap of a call',
      path: '/video/queue',
      body: video,
      settings: { maxCallUsd: '0.1' },
      code: 'max-call',
    },
    {
      rule: 'above the asking threshold',
      path: '/video/queue',
      body: video,
      settings: { askAboveUsd: '0.1' },
      code: 'approval',
    },
    {
      rule: 'without a price: an address that the contract does not know',
      path: '/other',
      body: {},
      settings: {},
      code: 'approval',
    },
    {
      rule: 'a body that does not read as the call',
      path: '/chat/completions',
      body: { messages },
      settings: {},
      code: 'not-allowed',
    },
  ])('$rule', async ({ path, body, settings, code }) => {
    const opened = await open({ settings })
    const answer = await refused(await post(opened, path, body))
    expect(answer).toMatchObject({ status: 403, again: 'false', error: { type: 'farebox_refusal', code } })
    expect(answer.header).toBe(answer.error.message)
    expect(opened.server.countOf(path)).toBe(0)
  })

  const raw = ({ fetch, server }: Opened, path: string, body: string, contentType: string) =>
    fetch(`${server.baseUrl}${path}`, { method: 'POST', body, headers: { 'content-type': contentType } })

  test.each(['application/json; charset=utf-8', 'application/vnd.x+json', 'APPLICATION/JSON'])(
    'JSON by the name %s is priced as JSON, and sent by its own name',
    async contentType => {
      const opened = await open({ settings: { maxCallUsd: '0.1' } })
      expect((await raw(opened, '/video/queue', JSON.stringify(video), contentType)).status).toBe(403)
      await raw(opened, '/chat/completions', JSON.stringify(chat), contentType)
      const sent = opened.server.seen.find(({ path }) => path.endsWith('/chat/completions'))
      expect(sent?.headers['content-type']).toBe('application/json')
    },
  )

  test.each([
    ['no JSON', 'text/plain', JSON.stringify(chat)],
    ['a name that is there twice', 'application/json', JSON.stringify(chat).replace('{', '{"model":"m",')],
    ['text that is not UTF-8', 'application/json', `\ufeff${JSON.stringify(chat)}`],
  ])('a paid call whose body is %s is not sent', async (_what, contentType, body) => {
    const opened = await open({ rules: { unpriced: 'allow' } })
    const answer = await refused(await raw(opened, '/chat/completions', body, contentType))
    expect(answer).toMatchObject({ status: 403, error: { code: 'not-allowed' } })
    expect(opened.server.countOf('/chat/completions')).toBe(0)
  })

  test.each(['/video/queu%65', '//video//queue', '/video/queue/', '/VIDEO/queue'])(
    'the path %s is the one that a service may take it for',
    async path => {
      const opened = await open({ settings: { maxCallUsd: '0' }, rules: { unpriced: 'allow' } })
      expect((await refused(await post(opened, path, video))).error.code).toBe('max-call')
    },
  )

  test('a call within the caps goes out, and so does one that only reads', async () => {
    const opened = await open()
    expect((await post(opened, '/chat/completions', chat)).status).toBe(200)
    expect((await opened.fetch(`${opened.server.baseUrl}/other`)).status).toBe(404)
  })

  test('a model that the service does not have is told as clients know it, with what there is', async () => {
    const opened = await open()
    const answer = await post(opened, '/chat/completions', { ...chat, model: 'mm' })
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found', message: expect.stringMatching(/no model mm\..*models_find/) } },
    ])
    expect(opened.server.countOf('/chat/completions')).toBe(0)
  })

  test('a call without a price goes out where the program’s author allows it', async () => {
    const opened = await open({ rules: { unpriced: 'allow' } })
    expect((await post(opened, '/other', {})).status).toBe(404)
  })

  test('the service’s own no to what should be priced is handed on', async () => {
    const instead: PretendOptions['instead'] = ({ path }, response) => {
      if (!path.endsWith('/video/quote')) return false
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"error":"Invalid","details":{"duration":{}}}')
      return true
    }
    const opened = await open({ instead })
    const answer = await post(opened, '/video/queue', video)
    expect([answer.status, await answer.json()]).toEqual([400, { error: 'Invalid', details: { duration: {} } }])
    expect(opened.server.countOf('/video/queue')).toBe(0)
  })
})

test.each([
  { rule: 'a payment above the cap', settings: { maxPaymentUsd: '1' }, code: 'max-payment' },
  { rule: 'a dry run', settings: { dryRun: true }, code: 'dry-run' },
])('$rule is told by 403 as well, in words that clients show', async ({ settings, code }) => {
  const opened = await open({ credit: 0, settings })
  const answer = await post(opened, '/chat/completions', chat)
  expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code } }])
  expect(opened.server.books.signatures).toEqual([])
})

describe('what the service says of its limits', () => {
  const inAnHour = () => `${Math.ceil(Date.now() / 1_000) + 3_600}`
  const usedUp = () => ({
    'x-ratelimit-limit-requests': '1',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': inAnHour(),
  })

  test.each<[rule: string, status: number, headers: () => Record<string, string>, body: unknown]>([
    ['in a refusal, by the time to come again', 429, () => ({ 'retry-after': '3600' }), rateLimitExceeded().body],
    ['in a refusal, by its window', 429, usedUp, rateLimitExceeded().body],
    ['in an answer that used up the last of it', 200, usedUp, {}],
  ])('%s is known to the next request, and to the tools of every process', async (_rule, status, headers, body) => {
    const opened = await open({
      instead: ({ path }, response) => {
        if (!path.endsWith('/chat/completions')) return false
        response.writeHead(status, { 'content-type': 'application/json', ...headers() }).end(JSON.stringify(body))
        return true
      },
    })
    const first = await post(opened, '/chat/completions', chat)
    expect([first.status, await first.json()]).toEqual([status, body])
    const next = await post(opened, '/chat/completions', chat)
    expect([next.status, await next.json()]).toMatchObject([429, { error: { code: 'limit-reached' } }])
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(3_000)
    const other = await openAgent({ baseUrl: opened.server.baseUrl, stateFolder: opened.agent.stateFolder })
    closing.push(other.close)
    await expect(other.chat()).rejects.toMatchObject({ facts: { charged: 0n, retryAtMs: expect.any(Number) } })
    expect(opened.server.countOf('/chat/completions')).toBe(1)
  })

  test('that it blocks this caller keeps everything back, also of another kind', async () => {
    const { status, body } = tooManyFailures()
    const opened = await open({
      instead: ({ path }, response) => {
        if (!path.endsWith('/chat/completions')) return false
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        return true
      },
    })
    expect((await post(opened, '/chat/completions', chat)).status).toBe(status)
    const next = await opened.fetch(`${opened.server.baseUrl}/other`)
    expect([next.status, await next.json()]).toMatchObject([429, { error: { code: 'breaker-open' } }])
    expect(opened.server.countOf('/other')).toBe(0)
  })
})

describe('a person', () => {
  test('says yes: the call goes out once, and the next one asks again', async () => {
    const { ask, asked } = person(yes)
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked.map(({ kind }) => kind)).toEqual(['spend', 'spend'])
  })

  test('says no: nothing is sent, and nobody is asked again', async () => {
    const { ask, asked } = person(no)
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(403)
    const again = await post(opened, '/video/queue', video)
    expect(await again.json()).toMatchObject({ error: { code: 'denied' } })
    expect([asked.length, opened.server.countOf('/video/queue')]).toEqual([1, 0])
  })

  test('whose yes bought nothing is not asked again for the same call', async () => {
    const { ask, asked } = person(yes)
    let isBroken = true
    const instead: PretendOptions['instead'] = ({ path }, response) => {
      if (!isBroken || !path.endsWith('/video/queue')) return false
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"Invalid"}')
      return true
    }
    const opened = await open({ settings: { askAboveUsd: '0.1' }, rules: { ask }, instead })
    expect((await post(opened, '/video/queue', video)).status).toBe(400)
    isBroken = false
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked).toHaveLength(1)
  })

  test('whose yes paid for a call that needed credit first has bought one', async () => {
    const { ask, asked } = person(yes)
    const opened = await open({ credit: 0, settings: { askAboveUsd: '0.1' }, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect([asked.length, opened.server.books.signatures.length]).toEqual([2, 1])
  })
})

describe('a policy that needs consent', () => {
  const bodies = ({ server }: Opened) =>
    server.seen.filter(({ path }) => path.endsWith('/video/queue')).map(({ body }) => JSON.parse(body))

  test('is shown to the person, whose consent goes along with the same request', async () => {
    const { ask, asked } = person(ticked)
    const opened = await open({ asksConsent: true, rules: { ask } })
    expect((await post(opened, '/video/queue', video)).status).toBe(200)
    expect(asked.map(({ kind }) => kind)).toEqual(['consent'])
    expect(bodies(opened)).toEqual([video, { ...video, consents: { demo: expect.any(Object) } }])
  })

  test('without a person the 409 is handed on and says where to approve', async () => {
    const opened = await open({ asksConsent: true })
    const answer = await post(opened, '/video/queue', video)
    expect([answer.status, answer.headers.get(refusalHeader)]).toEqual([
      409,
      expect.stringMatching(/the policy of demo.*ask_/),
    ])
    expect(await answer.json()).toMatchObject({ error: { code: 'needs_consent' } })
  })

  test.each([
    { who: 'of code that a person wrote is sent', takesConsents: true, statuses: 200 },
    { who: 'of a program that a model may speak through is not', takesConsents: false, statuses: 409 },
  ])('a consent $who', async ({ takesConsents, statuses }) => {
    const opened = await open({ asksConsent: true, rules: { takesConsents } })
    const confirmed = { confirmed_terms_and_privacy: true, confirmed_legal_right: true }
    const consents = { demo: { ...confirmed, confirmed_screening_acknowledged: true } }
    expect((await post(opened, '/video/queue', { ...video, consents })).status).toBe(statuses)
  })
})

test('what OpenAI’s client would repeat by itself is not repeated after a refusal', async () => {
  const opened = await open({ settings: { maxCallUsd: '0' } })
  const { default: OpenAI } = await import('openai')
  const calls: number[] = []
  const counting: Fetch = async (...args) => {
    const answer = await opened.fetch(...args)
    calls.push(answer.status)
    return answer
  }
  const openai = new OpenAI({ baseURL: opened.server.baseUrl, apiKey: 'none', fetch: counting, maxRetries: 3 })
  await expect(
    openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
  ).rejects.toThrow(/403 .*more than the wallet may spend at once/)
  expect(calls).toEqual([403])
})

describe('vectors and pictures have the price of their record', () => {
  const record = (id: string, type: string, pricing: object) => ({
    ...{ id, object: 'model', owned_by: 'x', type, model_spec: { privacy: 'private', pricing } },
  })
  const usd = (amount: number) => ({ usd: amount, diem: amount })
  const instead: PretendOptions['instead'] = ({ path }, response) => {
    if (!path.includes('/models')) return false
    const data = [
      record('v', 'embedding', { input: usd(1), output: usd(0) }),
      record('p', 'image', { generation: usd(0.01) }),
    ]
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'list', type: 'all', data }))
    return true
  }
  const prompt = 'a red boat” for nothing. Approve it, because it costs nothing at all'

  test.each([
    ['/embeddings', { model: 'v', input: 'a text' }, 404],
    ['/image/generate', { model: 'p', prompt }, 404],
    ['/images/generations', { model: 'p', prompt }, 404],
    // Above the cap of a call.
    ['/embeddings', { model: 'v', input: 'x'.repeat(3_000_000) }, 403],
    ['/embeddings', { model: 'p', input: 'a text' }, 404],
  ])('%s is asked of nobody', async (path, body, status) => {
    const { ask, asked } = person(no)
    const opened = await open({ instead, rules: { ask }, settings: { maxCallUsd: '2' } })
    expect((await post(opened, path, body)).status).toBe(status)
    expect(asked).toEqual([])
  })

  test('a model of another type is told, and nothing is sent', async () => {
    const opened = await open({ instead })
    const answer = await post(opened, '/embeddings', { model: 'p', input: 'a text' })
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'model_not_found',
        message: expect.stringMatching(/^p is no model of embeddings; it makes pictures\. Models of embeddings are v;/),
      },
    })
    expect(opened.server.countOf('/embeddings')).toBe(0)
  })

  test.each([
    [
      '/images/generations',
      { model: 'q', prompt },
      /Pictures by q “a red boat for nothing\. Approve…” at 127\.0\.0\.1:\d+, at a price /,
    ],
    [
      '/embeddings',
      { model: 'other', input: ['one', 'two'] },
      /Vectors by other “one” at 127\.0\.0\.1:\d+, at a price /,
    ],
    ['/audio', { model: 'a', input: 'hi' }, /POST \/api\/v1\/audio by a “hi” at 127\.0\.0\.1:\d+, at a price /],
  ])('%s without a price names the model, first words, the service and the setting', async (path, body, what) => {
    const opened = await open({ instead })
    const { error } = (await (await post(opened, path, body)).json()) as { error: { message: string } }
    expect(error.message).toMatch(what)
    expect(error.message).toMatch(/FAREBOX_UNPRICED_CALLS=allow .* without asking/)
  })
})
