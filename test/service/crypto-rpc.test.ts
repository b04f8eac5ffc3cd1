import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { RpcResult } from '#contract/operations/rpc.ts'
import type { ChainNode, NodeCall } from '#engines/ports/engine.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

/** Answers every call as the test says, and records the calls. */
class ScriptedNode implements ChainNode {
  asked: NodeCall[] = []
  answer: (method: string, index: number) => Promise<RpcResult> | RpcResult = () => ({ result: '0x1' })

  async ask(call: NodeCall): Promise<RpcResult[]> {
    this.asked.push(call)
    return Promise.all(call.calls.map(({ method }, index) => this.answer(method, index)))
  }
}

const node = new ScriptedNode()
let service: OpenedService
beforeAll(async () => {
  service = await openService({
    networks: [
      { slug: 'test-rollup', node, baseCredits: 30 },
      { slug: 'test-chain', node },
      { slug: 'dear-chain', node, baseCredits: 100_000 - 10 },
      { slug: 'cheap-chain', node, baseCredits: 1 },
    ],
  })
})
afterAll(async () => {
  await closeSound(service)
})
beforeEach(() => {
  node.asked = []
  node.answer = () => ({ result: '0x1' })
  service.clock.pass(60_000)
})

const call = (method: string, id?: number | string) => ({
  jsonrpc: '2.0',
  method,
  params: [],
  ...(id === undefined ? {} : { id }),
})

async function post(body: unknown, key: string, headers: Record<string, string> = {}, network = 'test-chain') {
  const response = await service.request(`/api/v1/crypto/rpc/${network}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify(body),
  })
  return { response, body: await response.json() }
}

const told = ({ headers }: Response) => [
  headers.get('x-service-rpc-credits'),
  headers.get('x-service-rpc-cost-usd'),
  headers.get('x-request-id')?.length,
]

const lines = () => service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()

test('§14 networks are listed for every caller, sorted', async () => {
  const response = await service.request('/api/v1/crypto/rpc/networks')
  expect([response.status, await response.json()]).toEqual([
    200,
    { networks: ['cheap-chain', 'dear-chain', 'test-chain', 'test-rollup'] },
  ])
})

const prices: [rule: string, network: string, body: object, credits: number, costUsd: string, microUsd: bigint][] = [
  ['20 credits an ordinary call', 'test-chain', call('eth_chainId', 1), 20, '0.00001400', 14n],
  ['twice as many for a large answer', 'test-chain', call('eth_getLogs', 1), 40, '0.00002800', 28n],
  ['four times as many for a trace', 'test-chain', call('trace_block', 1), 80, '0.00005600', 56n],
  ['30 of a rollup', 'test-rollup', call('eth_chainId', 'a'), 30, '0.00002100', 21n],
  ['their sum for a batch', 'test-chain', [call('eth_chainId', 1), call('eth_getLogs', 2)], 60, '0.00004200', 42n],
]
test.each(prices)('§14 a call costs %s', async (_rule, network, body, credits, costUsd, microUsd) => {
  const before = await lines()
  const { response } = await post(body, await service.key(1), {}, network)
  expect([response.status, ...told(response)]).toEqual([200, `${credits}`, costUsd, 32])
  const charged = (await lines()).filter(each => !before.some(({ id }) => id === each.id))
  expect(charged.map(({ sku, units, amount }) => [sku, units, amount])).toEqual([
    ['crypto.rpc', BigInt(credits), microUsd],
  ])
})

test('§14 what a node refuses costs 5 credits, and its words and ids come back as they are', async () => {
  const error = { code: -32602, message: 'invalid params', data: { at: 0 } }
  node.answer = (_method, index) => (index === 1 ? { error } : { result: null })
  const asked = [call('eth_getBalance', 'same'), call('eth_call', 'same'), call('eth_chainId')]
  const { response, body } = await post(asked, await service.key(1))
  expect(body).toEqual([
    { jsonrpc: '2.0', id: 'same', result: null },
    { jsonrpc: '2.0', id: 'same', error },
    { jsonrpc: '2.0', result: null },
  ])
  expect(told(response)[0]).toBe('45')
})

test('§14 what a node refuses costs no more than an answer, and nothing is written off', async () => {
  const before = await lines()
  node.answer = () => ({ error: { code: -32602, message: 'invalid params' } })
  const { response } = await post(call('eth_call', 1), await service.key(1), {}, 'cheap-chain')
  expect([response.status, told(response)[0]]).toEqual([200, '1'])
  const charged = (await lines()).filter(each => !before.some(({ id }) => id === each.id))
  expect(charged.map(({ units }) => units)).toEqual([1n])
  const lost = service.store.read.selectFrom('entry').select('id').where('kind', '=', 'WRITE_OFF')
  expect(await lost.execute()).toEqual([])
})

const refused: [rule: string, body: unknown, says: string][] = [
  ['D7: a method of the node’s administration', call('admin_peers'), 'method'],
  ['a debugger', call('debug_traceTransaction'), 'method'],
  ['a key of the node', call('eth_sendTransaction'), 'method'],
  ['D7: a signature of the node', call('personal_sign'), 'method'],
  ['what changes a test node', call('anvil_setBalance'), 'method'],
  ['what the node would have to remember', call('eth_newFilter'), 'method'],
  ['a method in other letters', call('ETH_chainId'), 'method'],
  ['D7: one bad method in a batch', [call('eth_chainId', 1), call('miner_start', 2)], 'method'],
  ['D7: a batch in a batch', [[call('admin_peers', 1)]], 'expected object'],
  ['D7: a method with a space', call('eth_chainId '), 'method'],
  ['D7: a part of every object', call('constructor'), 'method'],
  ['an empty batch', [], 'empty'],
  ['101 calls', Array(101).fill(call('eth_chainId', 1)), '100'],
  ['no method', { jsonrpc: '2.0', id: 1 }, 'method'],
  ['another protocol', { ...call('eth_chainId'), jsonrpc: '1.0' }, 'jsonrpc'],
  ['parameters that are no list', { ...call('eth_chainId'), params: 'x' }, 'params'],
  ['an invalid id', { ...call('eth_chainId'), id: {} }, 'id'],
  ['no call', 'eth_chainId', 'expected object'],
]
test.each(refused)('§14 %s is refused, reaches no node and costs nothing', async (_rule, body, says) => {
  const before = await lines()
  const { response, body: answer } = await post(body, await service.key(1))
  expect([response.status, JSON.stringify(answer).toLowerCase()]).toEqual([400, expect.stringContaining(says)])
  expect([node.asked.length, (await lines()).length]).toEqual([0, before.length])
})

test('§14 an unknown network is refused with the known ones', async () => {
  const { response, body } = await post(call('eth_chainId'), await service.key(1), {}, 'nowhere')
  expect([response.status, JSON.stringify(body)]).toEqual([
    400,
    expect.stringContaining('test-rollup, test-chain, dear-chain, cheap-chain'),
  ])
})

test('§14 a node that fails costs nothing, and its words stay here', async () => {
  const before = await lines()
  node.answer = () => Promise.reject(new Error('https://node.example/secret-key is down'))
  const { response, body } = await post(call('eth_chainId'), await service.key(1))
  expect([response.status, body]).toEqual([500, { error: 'Inference processing failed' }])
  expect([(await lines()).length, await service.store.read.selectFrom('hold').select('id').execute()]).toEqual([
    before.length,
    [],
  ])
})

test('§14 the same key brings the same answer, charged once; with another body it is a 400', async () => {
  const key = await service.key(1)
  const before = await lines()
  const headers = { 'idempotency-key': 'once' }
  const [first, again] = [
    await post(call('eth_blockNumber', 1), key, headers),
    await post(call('eth_blockNumber', 1), key, headers),
  ]
  expect([again.body, told(again.response)]).toEqual([first.body, told(first.response)])
  expect(again.response.headers.get('idempotent-replayed')).toBe('true')
  expect([node.asked.length, (await lines()).length - before.length]).toEqual([1, 1])
  const other = await post(call('eth_blockNumber', 2), key, headers)
  expect([other.response.status, JSON.stringify(other.body)]).toEqual([400, expect.stringContaining('Idempotency-Key')])
})

const limitsOf = ({ headers }: Response) =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map(name => headers.get(name))

test('§11.4 one call of an account is in flight at a time', async () => {
  const key = await service.key(1)
  const { promise: isAsked, resolve: begun } = Promise.withResolvers<void>()
  const { promise: held, resolve: end } = Promise.withResolvers<void>()
  node.answer = async () => {
    begun()
    await held
    return { result: '0x1' }
  }
  const first = post(call('eth_chainId'), key)
  await isAsked
  const { response } = await post(call('eth_chainId'), key)
  expect([response.status, limitsOf(response)[1], response.headers.get('retry-after')]).toEqual([429, '0', '1'])
  end()
  expect((await first).response.status).toBe(200)
  node.answer = () => ({ result: '0x1' })
  expect((await post(call('eth_chainId'), key)).response.status).toBe(200)
})

test('§11.4 the 101st call of a minute is refused with the published headers', async () => {
  const key = await service.key(1)
  for (let sent = 0; sent < 100; sent++) expect((await post(call('eth_chainId'), key)).response.status).toBe(200)
  const { response } = await post(call('eth_chainId'), key)
  const endSeconds = Math.floor(service.clock.now() / 60_000) * 60 + 60
  expect([response.status, ...limitsOf(response)]).toEqual([429, '100', '0', `${endSeconds}`])
})

test('§11.4 an account has 10,000,000 credits within 24 hours, by the ledger', async () => {
  const key = await service.key(10)
  const trace = () => post(call('trace_block'), key, {}, 'dear-chain')
  for (let sent = 0; sent < 25; sent++) expect((await trace()).response.status).toBe(200)
  expect((await trace()).response.status).toBe(429)
  // What this process has counted is forgotten, and read from the ledger.
  service.clock.pass(60_000)
  const { response } = await trace()
  expect([response.status, limitsOf(response)[0]]).toEqual([429, '10000000'])
  expect((await post(call('eth_chainId'), key)).response.status).toBe(200)
  service.clock.pass(24 * 60 * 60 * 1000)
  expect((await trace()).response.status).toBe(200)
})
