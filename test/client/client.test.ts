import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Client, type ClientOptions } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { answerBytes, bodyMs, breakerFailures, errorMs } from '#client/limits.ts'
import {
  chargeUnknown,
  errorKinds,
  keyStakingLimitReached,
  keyUsdLimitReached,
  ledgerReadOnly,
  ledgerUnreachable,
} from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { listModels } from '#contract/operations/models.ts'
import { queueVideo, retrieveVideo } from '#contract/operations/video.ts'
import { getWalletBalance } from '#contract/operations/wallet.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, type Handler, littleServer } from './little-server.ts'

async function clientOf(handler: Handler, options: Partial<ClientOptions> = {}) {
  const server = await littleServer(handler)
  const waited: number[] = []
  const client = new Client({
    baseUrl: server.baseUrl,
    credential: { apiKey: canaryApiKey },
    pause: async ms => void waited.push(ms),
    random: () => 0,
    ...options,
  })
  onTestFinished(() => client.close())
  onTestFinished(server.close)
  return { server, client, waited }
}

const completion = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
}
const chat = {
  params: undefined,
  query: undefined,
  body: { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] },
}
const list = { params: undefined, query: {}, body: undefined }

test('a call is written from its operation, in the vendor’s words, and read back in ours', async () => {
  const { server, client } = await clientOf(
    (_, response) =>
      answerJson(
        response,
        200,
        { ...completion, extra: 1 },
        {
          'x-acme-model-id': 'm',
          'x-acme-balance-usd': '3.5',
          'x-balance-remaining': '3.250000',
          'x-ratelimit-limit-requests': '50',
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-reset-requests': '1',
        },
      ),
    { vendor: 'acme' },
  )
  const body = { ...chat.body, service_parameters: { disable_thinking: true } }
  const { answer, headers } = await client.call(createChatCompletion, { ...chat, body })
  expect(answer.choices[0]?.message.content).toBe('Hi')
  expect(headers).toMatchObject({ model: 'm', balanceRemaining: 3_250_000n, balanceBefore: 3_500_000n })
  expect(headers.window).toMatchObject({ requestsLimit: 50, requestsLeft: 0 })
  expect(client.limitsSeen.models()).toMatchObject([{ model: 'm', requestsPerMinute: 50 }])
  expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/api/v1/chat/completions' })
  expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${canaryApiKey}`)
  expect(JSON.parse(server.seen[0]?.body ?? '')).toHaveProperty('acme_parameters.disable_thinking', true)
})

test('parameters and queries are in the address; an open operation sends no credential', async () => {
  const { server, client } = await clientOf((_, response) => answerJson(response, 404, { error: 'no' }))
  const address = `0x${'a'.repeat(40)}`
  await client
    .call(getWalletBalance, { params: { walletAddress: address }, query: undefined, body: undefined })
    .catch(() => {})
  await client.call(listModels, { ...list, query: { type: 'video' } }).catch(() => {})
  expect(server.seen.map(({ path }) => path)).toEqual([`/api/v1/x402/balance/${address}`, '/api/v1/models?type=video'])
  expect(server.seen[1]?.headers.authorization).toBeUndefined()
})

test('unknown members of a strict answer are dropped; other faults make it invalid', async () => {
  const model = {
    id: 'm',
    object: 'model',
    owned_by: 'x',
    type: 'video',
    news: true,
    model_spec: {
      privacy: 'private',
      later: 1,
      constraints: {
        aspect_ratios: [],
        resolutions: [],
        durations: ['5s'],
        model_type: 'video',
        audio: true,
        audio_configurable: true,
        more: 2,
      },
    },
  }
  const { client } = await clientOf((_, response, count) =>
    answerJson(response, 200, {
      object: 'list',
      type: 'all',
      data: [count === 1 ? model : { ...model, id: 7 }],
      page: 1,
    }),
  )
  const { answer } = await client.call(listModels, list)
  expect(answer.data[0]).toMatchObject({ id: 'm', model_spec: { constraints: { durations: ['5s'] } } })
  expect(JSON.stringify(answer)).not.toMatch(/news|later|more|page/)
  await expect(client.call(listModels, list)).rejects.toMatchObject({ kind: 'unreadable' })
})

const spent = {
  currency: 'USD',
  period: 'month',
  limit: 5,
  left: 0.25,
  startsAnewAt: '2026-12-01T00:00:00.000Z',
} as const

test('every kind of the error table is recognized, and untrusted text stays out of the message', async () => {
  const samples: [number, unknown, string][] = [
    [400, { error: 'Request ID is invalid.' }, 'REQUEST_ID_NOT_FOUND'],
    [400, { error: 'Invalid', details: { model: {} } }, 'INVALID_REQUEST'],
    [400, { error: { message: 'm', type: 't', param: null, code: 'context_length_exceeded' } }, 'TOO_MANY_TOKENS'],
    [401, { error: 'x', code: 'X402_SIGN_IN_EXPIRED' }, 'X402_INVALID_SIGN_IN'],
    [402, { error: 'Insufficient anything' }, 'INSUFFICIENT_BALANCE'],
    [402, keyUsdLimitReached().body, 'API_KEY_USD_SPEND_LIMIT_EXCEEDED'],
    [402, keyUsdLimitReached({}, spent).body, 'API_KEY_USD_SPEND_LIMIT_EXCEEDED'],
    [402, keyStakingLimitReached().body, 'API_KEY_DIEM_SPEND_LIMIT_EXCEEDED'],
    [503, ledgerReadOnly().body, 'LEDGER_READ_ONLY'],
    [503, ledgerUnreachable().body, 'LEDGER_UNREACHABLE'],
    [500, chargeUnknown().body, 'CHARGE_UNKNOWN'],
    [403, { error: 'nope' }, 'UNAUTHORIZED'],
    [404, { error: 'Specified model not found' }, 'MODEL_NOT_FOUND'],
    [
      409,
      {
        error: { code: 'needs_consent', message: 'm' },
        consent_flow: 'demo',
        face_media_roles: ['image'],
        consent: { consent_version: '1', policy_text: 'text' },
        docs_url: 'd',
        more: 1,
      },
      'needs_consent',
    ],
    [429, { error: 'Too many failed attempts (> 20) resulting in …' }, 'FAILED_REQUESTS'],
    [403, { error: 'Too many failed attempts (> 20) resulting in …' }, 'FAILED_REQUESTS'],
    [500, { error: 'Inference processing failed' }, 'INFERENCE_FAILED'],
    [502, '<html>', 'UNKNOWN_ANSWER'],
  ]
  for (const [status, body, kind] of samples) {
    const { client } = await clientOf((_, response) => answerJson(response, status, body))
    const error = await client
      .call(queueVideo, { ...chat, body: { model: 'm', prompt: 'p', duration: '5s' } }, { attempts: 1 })
      .catch(e => e)
    expect(error, kind).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ kind })
    expect(error.message).toBe(`${kind} (${errorKinds.find(each => each.kind === kind)?.status ?? status})`)
  }
})

test('a redirect is not followed, so no credential leaves', async () => {
  const other = await littleServer((_, response) => answerJson(response, 200, completion))
  onTestFinished(other.close)
  const { client } = await clientOf((_, response) => {
    response.writeHead(307, { location: `${other.baseUrl}/chat/completions` })
    response.end()
  })
  await expect(client.call(createChatCompletion, chat)).rejects.toMatchObject({ kind: 'redirected' })
  expect(other.seen).toEqual([])
})

test('plain http to another machine, and an address with a password, are refused before anything is sent', () => {
  for (const baseUrl of ['http://example.com/api/v1', 'https://a:b@example.com/api/v1', 'nothing']) {
    expect(() => new Client({ baseUrl, credential: null })).toThrow(ClientError)
  }
})

test('an answer that is too large or breaks off is never taken for one', async () => {
  const large = await clientOf((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`"${'x'.repeat(answerBytes)}"`)
  })
  await expect(large.client.call(listModels, list)).rejects.toMatchObject({ kind: 'too-large' })
  const broken = await clientOf((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"object"')
    setTimeout(() => response.destroy(), 10)
  })
  await expect(broken.client.call(createChatCompletion, chat)).rejects.toMatchObject({
    kind: 'no-answer',
    wasSent: true,
  })
  expect(broken.server.seen).toHaveLength(1)
})

test('an answer that drips without end is given up, and so is the text of an error', async () => {
  const drips = () =>
    new ReadableStream({
      async pull(controller) {
        await turn()
        controller.enqueue(new TextEncoder().encode(' '))
      },
    })
  const json = { 'content-type': 'application/json' }
  let status = 200
  const fetch = async () => new Response(drips(), { status, headers: json })
  const { client } = await clientOf(() => {}, { fetch })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const late = expect(client.call(listModels, list, { attempts: 1 })).rejects.toMatchObject({ kind: 'no-answer' })
  await vi.advanceTimersByTimeAsync(bodyMs)
  await late
  status = 400
  const refused = expect(client.call(listModels, list)).rejects.toMatchObject({ status })
  await vi.advanceTimersByTimeAsync(errorMs)
  await refused
})

test('a refused connection is told apart from a lost answer, and only then is a paid call sent again', async () => {
  const gone = await littleServer(() => {})
  await gone.close()
  const client = new Client({ baseUrl: gone.baseUrl, credential: null, pause: async () => {} })
  onTestFinished(() => client.close())
  await expect(client.call(createChatCompletion, chat)).rejects.toMatchObject({ kind: 'unreachable', wasSent: false })
})

test('the breaker stops a caller before the service would block it', async () => {
  const { server, client } = await clientOf((_, response) => answerJson(response, 400, { error: 'no' }))
  const results = []
  for (let count = 0; count < 30; count++) {
    results.push(await client.call(createChatCompletion, chat).catch(error => error.kind))
  }
  expect(server.seen).toHaveLength(breakerFailures)
  expect(results.at(-1)).toBe('breaker-open')
})

test('a file answer is handed on as bytes', async () => {
  const { client } = await clientOf((_, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4' })
    response.end('bytes')
  })
  const opened = await client.open(retrieveVideo, { ...chat, body: { model: 'm', queue_id: 'q' } })
  expect(opened).toMatchObject({ kind: 'bytes', mimeType: 'video/mp4' })
})

test('a keyed call that loses its answer is sent again with the same key and the same bytes', async () => {
  const { server, client } = await clientOf((_, response, count) => {
    if (count === 1) response.destroy()
    else answerJson(response, 200, completion)
  })
  const { answer } = await client.call(createChatCompletion, chat, { idempotencyKey: 'intent_1' })
  expect(answer.id).toBe('c1')
  expect(server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['intent_1', 'intent_1'])
  expect(server.seen[0]?.body).toBe(server.seen[1]?.body)
})

test('a key that is at work elsewhere is asked for again when the service says so', async () => {
  const { client, waited } = await clientOf((_, response, count) => {
    if (count > 1) return answerJson(response, 200, completion)
    answerJson(response, 409, { error: 'x', code: 'IDEMPOTENCY_KEY_IN_USE' }, { 'retry-after': '2' })
  })
  await client.call(createChatCompletion, chat, { idempotencyKey: 'intent_1' })
  expect(waited).toEqual([2_000])
})

test('a key goes only where an operation takes one, and only in the form that the contract knows', async () => {
  const { server, client } = await clientOf((_, response) => {
    answerJson(response, 200, { object: 'list', type: 'all', data: [] })
  })
  await client.call(listModels, list, { idempotencyKey: 'x' })
  expect(server.seen[0]?.headers['idempotency-key']).toBeUndefined()
  for (const idempotencyKey of ['', 'a b', 'ä', 'x'.repeat(256), 'a\r\nb: c']) {
    await expect(client.call(createChatCompletion, chat, { idempotencyKey })).rejects.toMatchObject({
      kind: 'not-allowed',
      wasSent: false,
    })
  }
  expect(server.seen).toHaveLength(1)
})

test('what the last headers said of limits is known by model, without those that a service does not send', async () => {
  const { client } = await clientOf((_, response) =>
    answerJson(response, 200, completion, { 'x-ratelimit-limit-requests': '20' }),
  )
  await client.call(createChatCompletion, chat)
  expect(client.limitsSeen.models()).toMatchObject([{ model: 'm', requestsPerMinute: 20, tokensPerMinute: null }])
  expect(client.limitsSeen.models()).toMatchObject([{ requestsLeft: null, requestsResetAtMs: null }])
})

test('a call that the limits would refuse waits for the next window before it is sent', async () => {
  const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)
  const { client, server, waited } = await clientOf(
    (_, response, count) =>
      answerJson(response, 200, completion, {
        date: new Date(nowMs).toUTCString(),
        'x-service-model-id': 'm',
        'x-ratelimit-limit-requests': '2',
        'x-ratelimit-remaining-requests': `${2 - count}`,
        'x-ratelimit-reset-requests': `${nowMs / 1_000 + 30}`,
      }),
    { clock: { now: () => nowMs } },
  )
  for (let count = 0; count < 3; count++) await client.call(createChatCompletion, chat)
  expect(waited).toEqual([30_000])
  expect(server.seen).toHaveLength(3)
})
