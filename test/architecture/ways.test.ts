/** Which of our files a call passes through; `docs/architecture.md` lists what is found here. */
import { createHook, executionAsyncId } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { catalogue } from '#agent/tools/catalogue.ts'
import type { ChatCall, ChatEngine } from '#engines/ports/engine.ts'
import { pooledChat } from '#engines/upstreams/pooled-engines.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { Listener } from '#service/http/listener.ts'
import { openAgent } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { connect } from '../mcp/connect.ts'
import { startTestChain } from '../payments/test-chain.ts'
import { encode, openWorld, payer } from '../payments/top-up-world.ts'
import { ScriptedChat } from '../service/chat-script.ts'
import { textModel } from '../service/models/example-models.ts'
import { type OpenServiceOptions, openService, TestClock } from '../service/open-service.ts'

/**
 * The asynchronous stack: frames of the call that is running, of what created the promise or handle it runs in, and so
 * on to the entry. V8's own async frames end at each `new Promise`, so the hook keeps who created what.
 */
const seen = {
  way: [] as string[],
  made: new Map<number, { by: number; where: Error }>(),
  note() {
    // A node of the tests passes the transaction on.
    if (seen.way.length > 0) return
    const files = stackOf(new Error('on the way'))
    for (let each = seen.made.get(executionAsyncId()); each; each = seen.made.get(each.by))
      files.push(...stackOf(each.where))
    seen.way = [...new Set(files.reverse())]
  },
}
const stackOf = (where: Error) =>
  [...(where.stack ?? '').matchAll(/(?<=[/(])(?:src|tools)\/[\w/.-]+\.ts(?=:)/g)].map(([path]) => path)

const hook = createHook({
  init: id => void seen.made.set(id, { by: executionAsyncId(), where: new Error('made here') }),
})

/** The client sends with undici, which tells of each request. */
const noteCallsOfClient = (message: unknown) => {
  if ((message as { request: { path: string } }).request.path.endsWith('/chat/completions')) seen.note()
}
const sending = 'undici:request:create'

const realFetch = globalThis.fetch
/** viem sends with the runtime's own `fetch`. */
const noteTransactions: typeof fetch = (input, init) => {
  if (String(init?.body).includes('eth_sendRawTransaction')) seen.note()
  return realFetch(input, init)
}

const closing = closedAfterEach()
const { stackTraceLimit } = Error
beforeEach(() => {
  Error.stackTraceLimit = 100
  subscribe(sending, noteCallsOfClient)
  globalThis.fetch = noteTransactions
  hook.enable()
})
afterEach(() => {
  hook.disable()
  globalThis.fetch = realFetch
  unsubscribe(sending, noteCallsOfClient)
  Error.stackTraceLimit = stackTraceLimit
  seen.made.clear()
  seen.way = []
})

/** The service on a socket. */
async function listening(options: OpenServiceOptions) {
  const opened = await openService(options)
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((incoming, bindings) => opened.service.app.fetch(incoming, bindings))
  closing.push(opened.close, () => listener.close(100))
  return { key: opened.key, url: `http://127.0.0.1:${listener.port}/api/v1` }
}

/** Tells of its calls, behind the pool that every configured model has. */
class SeenEngine extends ScriptedChat {
  override complete(call: ChatCall) {
    seen.note()
    return super.complete(call)
  }

  override stream(call: ChatCall) {
    seen.note()
    return super.stream(call)
  }
}

function pooled(): ChatEngine {
  const engine = new SeenEngine()
  engine.play([{ text: 'hello' }, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }])
  const upstreams = [{ name: 'one', engine, engineModel: 'one', weight: 1, concurrency: 1 }]
  return pooledChat(
    new UpstreamPool<ChatEngine>({ upstreams, queue: { length: 0, waitMs: 1 }, clock: new TestClock() }),
  )
}

async function chat(stream: boolean) {
  const { key, url } = await listening({ models: () => [textModel({ id: 'm', engine: pooled() })] })
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await key(5)}` },
    body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'hi' }] }),
  })
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('hello')])
}

async function topUp() {
  const chain = await startTestChain()
  closing.push(() => chain.stop())
  const world = await openWorld(chain)
  closing.push(() => world.dispose())
  const { url } = await listening({ payments: world.topUps })
  const { payment } = await payer(world)
  const answer = await fetch(`${url}/x402/top-up`, {
    method: 'POST',
    headers: { 'payment-signature': encode(payment) },
  })
  expect(answer.status).toBe(200)
}

async function toolCall() {
  const server = await pretendService()
  closing.push(server.close)
  const agent = await openAgent({ baseUrl: server.baseUrl })
  closing.push(agent.close)
  const connection = await connect({ host: agent.host, catalogue })
  closing.push(connection.disconnect)
  const result = await connection.client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'hi' } })
  expect(result.isError).toBeFalsy()
}

const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')

/** The numbered list beneath a heading of the page. */
const listed = (heading: string): string[] => {
  const [, section = ''] = page.split(`### ${heading}\n`)
  return [...(section.split('\n#')[0] ?? '').matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path = '']) => path)
}

test.each([
  { heading: 'A paid chat', call: () => chat(false), goal: 10, reached: 9 },
  { heading: 'A paid stream', call: () => chat(true), goal: 10, reached: 10 },
  { heading: 'A top-up', call: topUp, goal: 9, reached: 9 },
  { heading: 'A tool call', call: toolCall, goal: 8, reached: 8 },
])(
  '$heading passes at most $reached files (goal: $goal), and docs/architecture.md lists them',
  async way => {
    await way.call()
    expect(seen.way.length).toBeGreaterThan(3)
    expect(seen.way.length).toBeLessThanOrEqual(way.reached)
    expect(listed(way.heading)).toEqual(seen.way)
  },
  60_000,
)
