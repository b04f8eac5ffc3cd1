import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { messageBytes } from '#mcp/bounds.ts'
import { isApproved } from '#toolkit/approval.ts'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { spend } from './approval-requests.ts'
import { eras, textOf } from './connect.ts'
import { fakeHost, runningJob } from './fake-host.ts'
import { httpClient, openHttp, sessionOf, token } from './open-http.ts'

/** The host of the test that runs. */
let host: ToolHost
let served: Awaited<ReturnType<typeof openHttp>>
beforeAll(async () => {
  served = await openHttp({
    host: async () => ({
      context: invocation => host.context(invocation),
      answer: (approvalId, answer) => host.answer(approvalId, answer),
      close: async () => {},
    }),
  })
})
afterAll(() => served.close())
beforeEach(() => {
  host = fakeHost().host
})

/** A host whose paid calls note what happens to their results. */
function countingHost() {
  const counted = { delivered: 0, calls: 0 }
  const { host: inner } = fakeHost()
  const counting: ToolHost = {
    ...inner,
    context(invocation) {
      const context = inner.context(invocation)
      return {
        ...context,
        async limits() {
          counted.calls += 1
          invocation.whenDelivered?.(() => {
            counted.delivered += 1
          })
          return context.limits()
        },
      }
    },
  }
  return { host: counting, counted }
}

describe.each(eras)('in the %s era', era => {
  test('it lists, calls and answers as over a pipe', async () => {
    const client = await httpClient(served.url, era)
    expect((await client.listTools()).tools.length).toBeGreaterThan(9)
    const result = await client.callTool({ name: 'wallet_status', arguments: {} })
    expect(result.structuredContent).toMatchObject({ pays: 'wallet', credit_usd: 4.75 })
    const wrong = await client.callTool({ name: 'chat', arguments: {} })
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining('`model` is missing')])
    await client.close()
  })

  test('many clients with the same numbers of requests each get their own result, and each is delivered once', async () => {
    const { host: counting, counted } = countingHost()
    host = counting
    const clients = await Promise.all(Array.from({ length: 12 }, () => httpClient(served.url, era)))
    const results = await Promise.all(
      clients.flatMap(client => [
        client.callTool({ name: 'limits', arguments: {} }),
        client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } }),
      ]),
    )
    results.forEach((result, index) => {
      expect(Object.keys(result.structuredContent ?? {})).toContain(index % 2 === 0 ? 'tier' : 'job_id')
    })
    await expect.poll(() => counted).toEqual({ calls: 12, delivered: 12 })
    await Promise.all(clients.map(client => client.close()))
  })

  test('a wait reports its progress, growing', async () => {
    host = fakeHost({ reports: [{ message: 'queued', done: 5, total: 60 }], jobs: [runningJob] }).host
    const client = await httpClient(served.url, era)
    const progress: unknown[] = []
    await client.callTool(
      { name: 'job_wait', arguments: { job_id: 'job_1' } },
      { onprogress: value => progress.push(value) },
    )
    expect(progress).toEqual([{ progress: 5, total: 60, message: 'queued' }])
    await client.close()
  })

  test('a connection that is dropped stops its call, and its result is not counted as delivered', async () => {
    const { host: waiting, seen } = fakeHost({ waitsForever: true })
    let delivered = 0
    host = {
      ...waiting,
      context(invocation) {
        invocation.whenDelivered?.(() => {
          delivered += 1
        })
        return waiting.context(invocation)
      },
    }
    const client = await httpClient(served.url, era)
    const call = client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } })
    const ended = expect(call).rejects.toThrow()
    await expect.poll(() => seen.waitedMs.length).toBe(1)
    await client.close()
    await ended
    await expect.poll(() => seen.events).toEqual(['stopped'])
    expect(delivered).toBe(0)
  })
})

test.each(eras)('the user is asked in the %s era, on a stream of the session or by a separate request', async era => {
  const { host: asking, seen } = fakeHost({ questions: [spend] })
  host = asking
  const client = await httpClient(served.url, era, { capabilities: { elicitation: { form: {} } } })
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { approved: true } }))
  const result = await client.callTool({ name: 'wallet_top_up', arguments: { amount_usd: 5 } })
  expect(result.structuredContent).toMatchObject({ charged_usd: 5 })
  expect(seen.given.map(({ answer }) => isApproved(answer))).toEqual([true])
  await client.close()
})

test('a request of an older protocol without a session is answered, and a session that has ended begins anew', async () => {
  host = fakeHost().host
  const older = (headers: Record<string, string>, method = 'POST') =>
    fetch(served.url, {
      method,
      headers: {
        authorization,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      ...(method === 'POST' ? { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) } : {}),
    })
  expect((await older({})).status).toBe(200)
  const { client, sessionId } = await sessionOf(served.url)
  expect(sessionId).toMatch(/^[\w-]{43}$/)
  const ofSession = { 'mcp-session-id': sessionId, 'mcp-protocol-version': '2025-11-25' }
  expect((await older(ofSession)).status).toBe(200)
  expect((await older(ofSession, 'DELETE')).status).toBe(200)
  expect((await older(ofSession)).status).toBe(404)
  await client.close()
})

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const authorization = `Bearer ${token}`

interface Raw {
  method?: string
  path?: string
  headers?: Record<string, string | string[]>
  body?: string
}

/** A request exactly as written, because clients of HTTP set Host and Origin as they like. */
async function raw({ method = 'POST', path = '/mcp', headers = {}, body = ping }: Raw) {
  const { hostname, port } = new URL(served.url)
  const defaults = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const request = httpRequest({ hostname, port, method, path, headers: { ...defaults, ...headers } })
  const answered = new Promise<{ status: number; said: string; challenge: string | undefined }>((resolve, reject) => {
    request.once('error', reject)
    request.once('response', async response => {
      const said = await text(response)
      resolve({ status: response.statusCode ?? 0, said, challenge: response.headers['www-authenticate'] })
    })
  })
  request.end(method === 'GET' ? undefined : body)
  return answered
}

const door: [rule: string, sent: Raw, status: number, says?: RegExp][] = [
  ['the token lets in', { headers: { authorization } }, 200],
  ['its scheme may be written small', { headers: { authorization: `bearer ${token}` } }, 200],
  ['localhost is this machine', { headers: { authorization, host: 'localhost:1' } }, 200],
  ['a name before the host', { headers: { authorization, host: 'evil@127.0.0.1' } }, 403, /Host/],
  ['a path behind the host', { headers: { authorization, host: '127.0.0.1/x' } }, 403, /Host/],
  ['a page of this machine that knows the token', { headers: { authorization, origin: 'http://localhost:3000' } }, 200],
  ['no token', {}, 401, /Authorization: Bearer/],
  ['an empty one', { headers: { authorization: 'Bearer ' } }, 401],
  ['a wrong one', { headers: { authorization: 'Bearer guess' } }, 401],
  ['another scheme', { headers: { authorization: `Basic ${token}` } }, 401],
  ['two of them', { headers: { authorization: [authorization, authorization] } }, 401],
  ['a token in the address', { path: `/mcp?access_token=${token}` }, 401],
  ['a foreign name that resolves to this machine', { headers: { authorization, host: 'evil.example' } }, 403],
  ['such a name with a dot', { headers: { authorization, host: 'localhost.evil.example:80' } }, 403],
  ['a foreign page', { headers: { authorization, origin: 'https://evil.example' } }, 403],
  ['a page without an address', { headers: { authorization, origin: 'null' } }, 403],
  ['both come before the token', { headers: { host: 'evil.example' } }, 403],
  ['another path', { path: '/', headers: { authorization } }, 404, /\/mcp/],
  ['no looking for other doors', { method: 'GET', path: '/.well-known/oauth-protected-resource' }, 404],
  ['older streams without a request', { method: 'GET', headers: { authorization } }, 405],
  ['a form', { headers: { authorization, 'content-type': 'text/plain' } }, 415],
  ['too much, announced', { headers: { authorization }, body: `"${'x'.repeat(messageBytes)}"` }, 413],
  ['no JSON', { headers: { authorization }, body: '{' }, 400],
]
test.each(door)('%s', async (_rule, sent, status, says = /./s) => {
  const answer = await raw(sent)
  expect(answer.status).toBe(status)
  expect(answer.said).toMatch(says)
  expect(answer.said).not.toContain(token)
  expect(answer.challenge !== undefined).toBe(status === 401)
})

test('a stop lets a call in flight end, takes no other, and closes the host after it', async () => {
  const { host: slow, seen } = fakeHost()
  const { promise: held, resolve: finish } = Promise.withResolvers<void>()
  const stopping = await openHttp({
    host: async () => ({
      ...slow,
      context(invocation) {
        const context = slow.context(invocation)
        return {
          ...context,
          async limits() {
            seen.events.push('begun')
            await held
            return context.limits()
          },
        }
      },
    }),
  })
  const client = await httpClient(stopping.url, 'legacy')
  const call = client.callTool({ name: 'limits', arguments: {} })
  await expect.poll(() => seen.events).toEqual(['begun'])
  const closed = stopping.close()
  await expect(client.callTool({ name: 'job_list', arguments: {} })).rejects.toThrow()
  finish()
  expect((await call).structuredContent).toMatchObject({ tier: 'paid' })
  await closed
  expect(seen.events).toEqual(['begun', 'closed'])
  await client.close()
})
