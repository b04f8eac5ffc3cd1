import { describe, expect, test } from 'vitest'
import { type Fetch, refusalHeader } from '#agent/fetch/refused-answer.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'
import { chat, fetches, messages, type Opened, post, user, video, yes } from './program-fetch.ts'

const { open, closing } = fetches()

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
    expect(answer.header).toBe(answer.error.message.replace(/[“”]/g, '"'))
    expect(opened.server.countOf(path)).toBe(0)
  })

  test.each([
    ['/images/edits', '/image/edit'],
    ['/image/edits', '/image/edit'],
    ['/embedding', '/embeddings'],
    ['/chat/completion', '/chat/completions'],
  ])('a request to %s is refused with the path %s, and no approval is requested', async (path, meant) => {
    const { ask, asked } = user(yes)
    const opened = await open({ rules: { ask } })
    const { status, error } = await refused(await post(opened, path, { model: 'm' }))
    expect([status, error.code, asked]).toEqual([403, 'not-allowed', []])
    expect(error.message.split(/[ ;.]/)).toEqual(expect.arrayContaining([path, meant]))
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

  test('an unknown model is reported as clients expect, with the available ones', async () => {
    const opened = await open()
    const answer = await post(opened, '/chat/completions', { ...chat, model: 'mm' })
    expect([answer.status, await answer.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found', message: expect.stringMatching(/no model mm\..*GET \/models/) } },
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
])('$rule is a 403 too, in a form that clients show', async ({ settings, code }) => {
  const opened = await open({ credit: 0, settings })
  const answer = await post(opened, '/chat/completions', chat)
  expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code } }])
  expect(opened.server.ledger.signatures).toEqual([])
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
  ).rejects.toThrow(/403 .*FAREBOX_MAX_CALL_USD/)
  expect(calls).toEqual([403])
})
