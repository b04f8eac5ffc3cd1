/** Which of our files a call passes through; `docs/architecture.md` lists what is found here. */
import { createHook, executionAsyncId } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
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
const seen = vi.hoisted(() => {
  const made = new Map<number, { by: number; where: Error }>()
  const stackOf = (where: Error) =>
    [...(where.stack ?? '').matchAll(/(?<=[/(])(?:src|tools)\/[\w/.-]+\.ts(?=:)/g)].map(([path]) => path)
  return {
    way: [] as string[],
    made,
    note(here: number) {
      const files = stackOf(new Error('on the way'))
      for (let each = made.get(here); each; each = made.get(each.by)) files.push(...stackOf(each.where))
      seen.way = [...new Set(files.reverse())]
    },
  }
})
// The modules of files before this one have the packages themselves, and those after it shall have them too.
vi.hoisted(() => vi.resetModules())
afterAll(() => void vi.resetModules())

const hook = createHook({
  init: id => void seen.made.set(id, { by: executionAsyncId(), where: new Error('made here') }),
})

// Packages that leave the process: what sends to a chain, and what opens a connection of the client.
vi.mock('viem', async original => {
  const viem = await original<typeof import('viem')>()
  const createWalletClient = (options: Parameters<typeof viem.createWalletClient>[0]) => ({
    extend: (actions: typeof viem.publicActions) => {
      const client = viem.createWalletClient(options).extend(actions)
      const sendRawTransaction: typeof client.sendRawTransaction = call => {
        seen.note(executionAsyncId())
        return client.sendRawTransaction(call)
      }
      return { ...client, sendRawTransaction }
    },
  })
  return { ...viem, createWalletClient }
})
vi.mock('undici', async original => {
  const undici = await original<typeof import('undici')>()
  const request: typeof undici.request = (url, options) => {
    if (String(url).endsWith('/chat/completions')) seen.note(executionAsyncId())
    return undici.request(url, options)
  }
  return { ...undici, request }
})

const closing = closedAfterEach()
beforeEach(() => {
  Error.stackTraceLimit = 100
  hook.enable()
})
afterEach(() => {
  hook.disable()
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
    seen.note(executionAsyncId())
    return super.complete(call)
  }

  override stream(call: ChatCall) {
    seen.note(executionAsyncId())
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
