import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { JsonRpcNode } from '#engines/chain/json-rpc-node.ts'

interface Sent {
  id: number
  method: string
}
type Answer = (body: Sent[], ...rest: Parameters<RequestListener>) => void

let asked: { path: string; body: Sent[] }[] = []
let answer: Answer
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString())
    asked.push({ path: request.url ?? '', body })
    answer(body, request, response)
  })
})
let url = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise<void>(resolve => server.close(() => resolve())))

const open: JsonRpcNode[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
  asked = []
})

function nodeAt(...urls: [string, ...string[]]): JsonRpcNode {
  const node = new JsonRpcNode({ urls })
  open.push(node)
  return node
}

const ask = (node: JsonRpcNode, ...methods: string[]) =>
  node.ask({ calls: methods.map(method => ({ method, id: 'same', extra: 1 })), signal: new AbortController().signal })

const json =
  (value: unknown): Answer =>
  (_body, _request, response) =>
    void response.end(JSON.stringify(value))

test('D7: calls go out under ids of our own, and results come in the order of the calls', async () => {
  answer = (body, _request, response) => {
    const results = body.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method, extra: true }))
    response.end(JSON.stringify(results.reverse()))
  }
  const results = await ask(nodeAt(`${url}/v1/key`), 'eth_chainId', 'eth_gasPrice')
  expect(results.map(({ result, extra }) => [result, extra])).toEqual([
    ['eth_chainId', true],
    ['eth_gasPrice', true],
  ])
  expect(asked).toEqual([
    {
      path: '/v1/key',
      body: [
        { jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] },
        { jsonrpc: '2.0', id: 1, method: 'eth_gasPrice', params: [] },
      ],
    },
  ])
})

test('if one address does not answer, the next is tried', async () => {
  answer = json([{ id: 0, result: '0x1' }])
  expect(await ask(nodeAt('http://127.0.0.1:1', url), 'eth_chainId')).toMatchObject([{ result: '0x1' }])
})

test.each<[string, Answer]>([
  ['a redirect', (_, __, response) => void response.writeHead(307, { location: `${url}/elsewhere` }).end()],
  ['another status', (_, __, response) => void response.writeHead(500).end('{}')],
  ['no JSON', (_, __, response) => void response.end('<html>')],
  ['no list', json({ id: 0, result: 1 })],
  ['too few results', json([])],
  ['a result of another call', json([{ id: 7, result: 1 }])],
  ['neither result nor error', json([{ id: 0 }])],
  ['both of them', json([{ id: 0, result: 1, error: { code: 1, message: 'x' } }])],
  ['an invalid error', json([{ id: 0, error: 'x' }])],
  ['a broken connection', (_, request) => void request.socket.destroy()],
])('%s is not an answer, and no other node is tried', async (_what, given) => {
  answer = given
  await expect(ask(nodeAt(url, `${url}/second`), 'eth_chainId')).rejects.toThrow()
  expect(asked.map(({ path }) => path)).toEqual(['/'])
})

test.each(['ftp://node.example', 'node.example', ''])('%j is no address of a node', address => {
  expect(() => new JsonRpcNode({ urls: [address] })).toThrow('must begin with')
})
