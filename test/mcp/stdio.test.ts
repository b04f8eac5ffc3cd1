import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect, eras } from './connect.ts'
import { fakeHost } from './fake-host.ts'
import { samples } from './samples.ts'

const entry = fileURLToPath(new URL('./entry.ts', import.meta.url))

interface Message {
  jsonrpc: string
  id?: number
  method?: string
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

let processes: ChildProcess[] = []
afterEach(() => {
  for (const child of processes) child.kill()
  processes = []
})

/** The process as a pipe sees it: every line that it wrote, parsed or not. */
function start() {
  const child = spawn(process.execPath, [entry], { stdio: ['pipe', 'pipe', 'pipe'] })
  processes.push(child)
  const lines: string[] = []
  let errors = ''
  createInterface({ input: child.stdout }).on('line', line => lines.push(line))
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const messages = () => lines.map(line => JSON.parse(line) as Message)
  return {
    child,
    messages,
    errors: () => errors,
    send: (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    answer: (id: number) => expect.poll(() => messages().find(message => message.id === id)).toBeDefined(),
  }
}

const initialize = (protocolVersion: string) => ({
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '0' } },
})

test.each(['2024-10-07', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'a client of %s is served in its own version',
  async version => {
    const { send, answer, messages, child } = start()
    send(initialize(version))
    await answer(1)
    expect(messages()[0]?.result).toMatchObject({ protocolVersion: version, serverInfo: { name: 'farebox' } })
    send({ method: 'notifications/initialized' })
    send({ id: 2, method: 'tools/list' })
    await answer(2)
    expect(messages().find(({ id }) => id === 2)?.result?.tools).toHaveLength(Object.keys(samples).length)
    send({ id: 3, method: 'tools/call', params: { name: 'job_wait', arguments: samples.job_wait } })
    await answer(3)
    const content = messages().find(({ id }) => id === 3)?.result?.content as { type: string }[] | undefined
    // Older clients reject a whole result because of a block that their version does not have.
    expect(content?.map(({ type }) => type)).toEqual(version < '2025-06-18' ? ['text'] : ['text', 'resource_link'])
    child.stdin.end()
    await once(child, 'exit')
  },
)

test('one process: every tool, wrong arguments, an unknown tool and broken lines; stdout is JSON-RPC alone', async () => {
  const { send, answer, messages, child, errors } = start()
  send(initialize('2025-06-18'))
  await answer(1)
  send({ method: 'notifications/initialized' })
  const names = Object.keys(samples)
  names.forEach((name, index) => {
    const _meta = { progressToken: index }
    send({ id: 10 + index, method: 'tools/call', params: { name, arguments: samples[name], _meta } })
  })
  send({ id: 50, method: 'tools/call', params: { name: 'chat', arguments: { model: 7 } } })
  send({ id: 51, method: 'tools/call', params: { name: 'nothing', arguments: {} } })
  send({ id: 52, method: 'no/such' })
  child.stdin.write('this is no JSON\n\n{"jsonrpc":"2.0"}\n')
  send({ id: 53, method: 'ping' })
  for (const id of [...names.keys().map(index => 10 + index), 50, 51, 52, 53]) await answer(id)
  child.stdin.end()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  const all = messages()
  expect(all.every(message => message.jsonrpc === '2.0')).toBe(true)
  const results = names.map((name, index) => [name, all.find(({ id }) => id === 10 + index)?.result])
  for (const [name, result] of results)
    expect([name, result]).toEqual([name, expect.not.objectContaining({ isError: true })])
  expect(all.find(({ id }) => id === 50)?.result).toMatchObject({ isError: true })
  expect(all.find(({ id }) => id === 51)?.error?.code).toBe(-32602)
  expect(all.find(({ id }) => id === 52)?.error?.code).toBe(-32601)
  expect(all.some(({ method }) => method === 'notifications/progress')).toBe(true)
  for (const line of errors().split('\n').filter(Boolean))
    expect(JSON.parse(line)).toMatchObject({ where: 'transport' })
})

test('the process ends by itself when its client leaves during a call', async () => {
  const { send, answer, child } = start()
  send(initialize('2025-06-18'))
  await answer(1)
  send({ id: 2, method: 'tools/call', params: { name: 'job_wait', arguments: samples.job_wait } })
  child.stdin.end()
  const [code, signal] = await once(child, 'exit')
  expect([code, signal]).toEqual([0, null])
})

describe.each(eras)('the SDK’s own stdio client in the %s era', era => {
  test('lists and calls', async () => {
    const client = new Client(
      { name: 'test', version: '0' },
      { versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' } },
    )
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [entry] }))
    expect(client.getProtocolEra()).toBe(era)
    await client.listTools()
    const { structuredContent } = await client.callTool({ name: 'wallet_status', arguments: {} })
    expect(structuredContent).toMatchObject({ pays: 'wallet', credit_usd: 4.75, spent_usd: { today: 5, total: 5 } })
    await client.close()
  })
})

test('no tool prints: neither the console nor stdout is touched while all of them run', async () => {
  const spies = [
    ...(['log', 'info', 'debug', 'warn', 'error', 'dir', 'table', 'trace'] as const).map(name =>
      vi.spyOn(console, name),
    ),
    vi.spyOn(process.stdout, 'write'),
  ]
  const { client, disconnect } = await connect({ host: fakeHost().host, tools: ['all'] })
  await client.listTools()
  for (const [name, given] of Object.entries(samples)) {
    expect((await client.callTool({ name, arguments: given })).isError).toBeFalsy()
  }
  await disconnect()
  const touched = spies.filter(spy => spy.mock.calls.length > 0).map(spy => spy.getMockName())
  vi.restoreAllMocks()
  expect(touched).toEqual([])
})
