import { Server } from '@modelcontextprotocol/server'
import { afterEach, expect, test } from 'vitest'
import { sessionLimits } from '#mcp/bounds.ts'
import { type HttpSessions, httpSessions } from '#mcp/http-sessions.ts'

let nowMs = 0
let sessions: HttpSessions
const servers: Server[] = []

function open(): void {
  nowMs = 1_000_000
  servers.length = 0
  const makeServer = () => {
    const server = new Server({ name: 'test', version: '0' }, { capabilities: { tools: {} } })
    servers.push(server)
    return server
  }
  sessions = httpSessions(makeServer, { now: () => nowMs }, () => {})
}
afterEach(() => sessions.close())

function post(body: unknown, id?: string): Promise<Response | undefined> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
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

const statusOf = async (id: string) => (await post(ping, id))?.status

test('beyond the bound the session that was unused longest makes room', async () => {
  open()
  const ids: string[] = []
  for (let each = 0; each < sessionLimits.open; each += 1) ids.push(await begin())
  expect(new Set(ids).size).toBe(sessionLimits.open)
  const [first = '', second = ''] = ids
  expect(await statusOf(first)).toBe(200)
  await begin()
  expect([await statusOf(first), await statusOf(second)]).toEqual([200, 404])
})

test('a session that nobody has used for hours is gone when another begins', async () => {
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
