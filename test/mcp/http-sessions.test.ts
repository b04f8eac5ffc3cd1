import { Server } from '@modelcontextprotocol/server'
import { afterEach, expect, test } from 'vitest'
import { sessionLimits } from '#mcp/bounds.ts'
import { type HttpSessions, httpSessions } from '#mcp/http/sessions.ts'

let nowMs = 0
let sessions: HttpSessions
const servers: Server[] = []
let closed = 0
let calls: PromiseWithResolvers<void>

function open(onServer = () => {}): void {
  nowMs = 1_000_000
  servers.length = 0
  closed = 0
  calls = Promise.withResolvers()
  const makeServer = () => {
    const server = new Server({ name: 'test', version: '0' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', async () => {
      await calls.promise
      return { content: [] }
    })
    server.onclose = () => {
      closed += 1
    }
    servers.push(server)
    onServer()
    return server
  }
  sessions = httpSessions(makeServer, { now: () => nowMs }, () => {})
}
afterEach(() => sessions.close())

const bothKinds = 'application/json, text/event-stream'

function post(body: unknown, id?: string, accept = bothKinds): Promise<Response | undefined> {
  const headers = { 'content-type': 'application/json', accept }
  return sessions.fetch(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: id === undefined ? headers : { ...headers, 'mcp-session-id': id },
      body: JSON.stringify(body),
    }),
  )
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
}
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }

async function begin(): Promise<string> {
  const response = await post(initialize)
  await response?.text()
  return response?.headers.get('mcp-session-id') ?? ''
}

async function statusOf(id: string): Promise<number | undefined> {
  const response = await post(ping, id)
  await response?.text()
  return response?.status
}

const begunTo = async (count: number) => {
  const ids: string[] = []
  for (let each = 0; each < count; each += 1) ids.push(await begin())
  return ids
}

/** How many of these sessions are there. */
const alive = async (ids: readonly string[]) =>
  (await Promise.all(ids.map(statusOf))).filter(status => status === 200).length

const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'wait', arguments: {} } }

test('beyond the bound the session that was unused longest makes room', async () => {
  open()
  const ids = await begunTo(sessionLimits.open)
  expect(new Set(ids).size).toBe(sessionLimits.open)
  const [first = '', second = ''] = ids
  expect(await statusOf(first)).toBe(200)
  await begin()
  expect([await statusOf(first), await statusOf(second)]).toEqual([200, 404])
})

test('a session that was unused for hours is closed when another begins', async () => {
  open()
  const old = await begin()
  nowMs += sessionLimits.idleMs
  const young = await begin()
  expect([await statusOf(old), await statusOf(young)]).toEqual([404, 200])
})

test('an id that was never given opens nothing, and no server is made for it', async () => {
  open()
  expect(await statusOf('x'.repeat(43))).toBe(404)
  expect(servers).toEqual([])
})

test.each([
  ['a request without a session', ping],
  ['no JSON-RPC', { hello: 1 }],
  ['nothing', null],
])('%s is not for sessions', async (_what, body) => {
  open()
  expect(await post(body)).toBeUndefined()
})

test('after a close every session is gone', async () => {
  open()
  const id = await begin()
  await sessions.close()
  expect(await statusOf(id)).toBe(404)
})

test('of two hundred that begin at once no more are let in than there are places', async () => {
  open()
  const responses = await Promise.all(Array.from({ length: 200 }, () => post(initialize)))
  const ids = responses.flatMap(response => response?.headers.get('mcp-session-id') ?? [])
  const refused = responses.filter(response => response?.status !== 200)
  expect(refused.map(response => [response?.status, response?.headers.get('retry-after')])).toEqual(
    refused.map(() => [503, '1']),
  )
  expect([refused.length > 0, await alive(ids), servers.length - closed]).toEqual([
    true,
    sessionLimits.open,
    sessionLimits.open,
  ])
})

test('one that the protocol refuses ends none', async () => {
  open()
  const ids = await begunTo(sessionLimits.open)
  expect((await post(initialize, undefined, 'application/json'))?.status).toBe(406)
  expect([await alive(ids), servers.length - closed]).toEqual([sessionLimits.open, sessionLimits.open])
})

test('none ends while a call is under way in it; where that is so in all, a new one is told to try again in a moment', async () => {
  open()
  const ids = await begunTo(sessionLimits.open)
  const answers = await Promise.all(ids.map(id => post(call, id)))
  const refused = await post(initialize)
  expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await refused?.json()).toMatchObject({ error: { message: expect.stringContaining('try again in a moment') } })
  nowMs += sessionLimits.idleMs
  expect((await post(initialize))?.status).toBe(503)
  calls.resolve()
  for (const answer of answers) expect(await answer?.text()).toContain('"content":[]')
  nowMs -= sessionLimits.idleMs
  await begin()
  expect([await statusOf(ids[0] ?? ''), await alive(ids)]).toEqual([404, sessionLimits.open - 1])
})

test('one whose caller has left has no call under way any more', async () => {
  open()
  const ids = await begunTo(sessionLimits.open)
  const answers = await Promise.all(ids.map(id => post(call, id)))
  await answers[5]?.body?.cancel()
  await begin()
  calls.resolve()
  for (const [at, answer] of answers.entries()) if (at !== 5) await answer?.text()
  expect([await statusOf(ids[5] ?? ''), await alive(ids)]).toEqual([404, sessionLimits.open - 1])
})

test('one that began while places were free is refused where all have got a call in the meantime', async () => {
  let ids: string[] = []
  const answers: Promise<Response | undefined>[] = []
  open(() => {
    if (ids.length === sessionLimits.open) for (const id of ids) answers.push(post(call, id))
  })
  ids = await begunTo(sessionLimits.open)
  expect((await post(initialize))?.status).toBe(503)
  calls.resolve()
  for (const answer of answers) await (await answer)?.text()
  expect([await alive(ids), servers.length - closed]).toEqual([sessionLimits.open, sessionLimits.open])
})
