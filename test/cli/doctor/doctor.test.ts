import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { encodeAbiParameters, toFunctionSelector } from 'viem'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openService } from '#service/index.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { runCommand } from '../run-command.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const engineKey = 'sk-of-an-engine-that-nobody-shows'
const facilitatorKey = `0x${'11'.repeat(32)}`
const secret = 'a secret of the doctor, thirty-two bytes long'

let folder: string
let engine: Server
let node: Server
/** What the node says; a test changes it. */
let chain: { id: string; balance: string; dateMs: number; tokenName: string }
beforeAll(async () => {
  folder = temporaryFolder('doctor')
  engine = await listening((request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${engineKey}`
    response.writeHead(isKnown ? 200 : 401).end('{"data":[]}')
  })
  node = await listening(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { method, params } = JSON.parse(text) as { method: string; params: [{ data?: string }] }
    const textOfToken = params?.[0]?.data === toFunctionSelector('name()') ? chain.tokenName : '2'
    const results: Record<string, unknown> = {
      eth_chainId: chain.id,
      eth_gasPrice: '0x3b9aca00',
      eth_maxPriorityFeePerGas: '0x1',
      eth_getBalance: chain.balance,
      eth_getBlockByNumber: { baseFeePerGas: '0x3b9aca00', transactions: [] },
      eth_getCode: '0x60',
      eth_call: encodeAbiParameters([{ type: 'string' }], [textOfToken]),
    }
    response.setHeader('date', new Date(chain.dateMs).toUTCString())
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: results[method] }))
  })
})
afterAll(() => {
  for (const server of [engine, node]) server.close()
})

async function listening(answer: RequestListener): Promise<Server> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const configOf = (changes: { port?: number; key?: string } = {}) => `
publicUrl: http://127.0.0.1:8402
listen: 127.0.0.1:${changes.port ?? 0}
data: books
payments:
  evm:
    payTo: '0x000000000000000000000000000000000000dEaD'
    rpcUrl: \${NODE_URL}
    facilitatorKey: \${FACILITATOR_KEY}
models:
  - id: one
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: openai, baseUrl: '${addressOf(engine)}/v1', apiKey: '\${${changes.key ?? 'ENGINE_KEY'}}' }]
`

interface Found {
  check: string
  state: string
  says: string
  next?: string
}

/** A folder of its own, with ledger and a wallet that are well. */
async function wellFolder() {
  const root = await mkdtemp(join(folder, 'case-'))
  const data = join(root, 'books')
  await mkdir(join(root, 'wallet'))
  const service = await openService({
    publicUrl: 'http://127.0.0.1:8402',
    folder: join(data, 'service'),
    secrets: [secret],
    models: [],
  })
  await service.createKey({ usd: '1' })
  await service.close()
  await writeFile(join(data, 'service', 'secret'), `${secret}\n`, { mode: 0o600 })
  await writeFile(join(root, 'wallet', 'wallet.json'), '{}', { mode: 0o600 })
  chain = { id: '0x2105', balance: '0xde0b6b3a7640000', dateMs: Date.now(), tokenName: 'USD Coin' }
  const file = join(root, 'farebox.yaml')
  await writeFile(file, configOf())
  return { root, data, file }
}

async function look(root: string, file: string, env: NodeJS.ProcessEnv = {}) {
  const end = await runCommand(['doctor', '--json', '--config', file], {
    NODE_URL: `${addressOf(node)}/a-key-of-the-node`,
    FACILITATOR_KEY: facilitatorKey,
    ENGINE_KEY: engineKey,
    WRONG_KEY: 'another',
    FAREBOX_DATA: join(root, 'wallet'),
    ...env,
  })
  const all = end.stdout + end.stderr
  for (const hidden of [engineKey, facilitatorKey, secret, 'a-key-of-the-node']) expect(all).not.toContain(hidden)
  const found = end.stdout.split('\n').flatMap(line => (line ? [JSON.parse(line) as Found] : []))
  return { code: end.code, found, brokenOnes: found.filter(({ state }) => state === 'broken') }
}

test('of a service that is well nothing is broken, and a line is of each thing', async () => {
  const { root, file } = await wellFolder()
  const { code, found, brokenOnes } = await look(root, file)
  expect([code, brokenOnes]).toEqual([0, []])
  const checks = ['chain', 'clock', 'configuration', 'data folder', 'engine', 'ffmpeg', 'gas', 'ledger', 'node', 'port']
  expect([...new Set(found.map(({ check }) => check))].toSorted()).toEqual(
    [...checks, 'images', 'tables', 'terms', 'wallet'].toSorted(),
  )
  const plain = await runCommand(['doctor', '--config', file], { FAREBOX_DATA: join(root, 'wallet') })
  expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('problem')])
  expect(plain.stdout).toMatch(/^!! configuration: .*variable NODE_URL is not set/m)
})

type Case = Awaited<ReturnType<typeof wellFolder>>

test.each<[string, (case_: Case) => unknown, string, RegExp]>([
  [
    'a fault of the file',
    ({ file }) => writeFile(file, 'publicUrl: http://a.example\nmodels: 3'),
    'configuration',
    /models: Expected array; found 3/,
  ],
  [
    'a ledger that does not add up',
    ({ data }) => changed(data, 'UPDATE account SET posted = posted + 5'),
    'ledger',
    /does not add up/,
  ],
  [
    'a ledger of another release',
    ({ data }) => changed(data, "INSERT INTO kysely_migration VALUES ('9999-later', '2027-01-01')"),
    'tables',
    /another release/,
  ],
  [
    'a ledger that cannot be read',
    ({ data }) => writeFile(join(data, 'service', 'farebox.db'), 'no database at all'.repeat(100)),
    'ledger',
    /cannot be read/,
  ],
  [
    'a secret that others read',
    ({ data }) => chmod(join(data, 'service', 'secret'), 0o644),
    'data folder',
    /Other users of this machine can read .*secret/,
  ],
  [
    'a wallet that others read',
    ({ root }) => chmod(join(root, 'wallet', 'wallet.json'), 0o640),
    'wallet',
    /can read .*wallet\.json/,
  ],
  [
    'a token of programs that others read',
    ({ root }) => writeFile(join(root, 'wallet', 'mcp-token'), 'a token', { mode: 0o644 }),
    'wallet',
    /can read .*mcp-token/,
  ],
  [
    'a port that is taken',
    ({ file }) => writeFile(file, configOf({ port: (engine.address() as AddressInfo).port })),
    'port',
    /is taken/,
  ],
  ['a key that an engine refuses', ({ file }) => writeFile(file, configOf({ key: 'WRONG_KEY' })), 'engine', /refuses/],
  [
    'a node of another chain',
    () => Object.assign(chain, { id: '0x1' }),
    'chain',
    /serves eip155:1, but payments are on eip155:8453/,
  ],
  [
    'a token of another name',
    () => Object.assign(chain, { tokenName: 'USDC' }),
    'terms',
    /has the name "USDC"; set `payments.evm.token.name`/,
  ],
  ['no gas', () => Object.assign(chain, { balance: '0x0' }), 'gas', /cannot pay for a settlement/],
  ['a clock that is off', () => Object.assign(chain, { dateMs: Date.now() - 3_600_000 }), 'clock', /36\d\d s off/],
])('%s is broken, with what to do', async (_, spoil, check, says) => {
  const spoilt = await wellFolder()
  await spoil(spoilt)
  const { code, brokenOnes } = await look(spoilt.root, spoilt.file)
  expect([code, brokenOnes.map(each => each.check)]).toEqual([1, [check]])
  expect(brokenOnes[0]?.says).toMatch(says)
  expect(brokenOnes[0]?.next).toMatch(/\S/)
})

test('unreachable servers are reported with host and reason', async () => {
  const { root, file } = await wellFolder()
  const gone = await listening(() => undefined)
  const url = addressOf(gone)
  gone.close()
  await once(gone, 'close')
  const { brokenOnes } = await look(root, file, { NODE_URL: `${url}/a-key-of-the-node` })
  expect(brokenOnes).toEqual([
    expect.objectContaining({ check: 'chain', says: expect.stringContaining('ECONNREFUSED') }),
  ])
})

test('without a configuration the rest is checked', async () => {
  const { root, data } = await wellFolder()
  const end = await runCommand(['doctor', '--data', data], { FAREBOX_DATA: join(root, 'none') })
  expect(end.code).toBe(0)
  expect(end.stdout).toMatch(/^-- configuration: farebox.yaml does not exist/m)
  expect(end.stdout).toMatch(/^ok ledger: The ledger in the database adds up: \d+ rows? of \d+ accounts?\./m)
  const named = await runCommand(['doctor', '--config', join(root, 'nothing.yaml'), '--data', data], {})
  expect(named.code).toBe(1)
})

/** The ledger after a statement that no unit of work would make. */
async function changed(data: string, sql: string): Promise<void> {
  const database = new DatabaseSync(join(data, 'service', 'farebox.db'))
  database.exec(sql)
  database.close()
}

/** A bucket of S3 that knows one key and one bucket. */
async function bucketServer(): Promise<Server> {
  const server = await listening((request, response) => {
    const refusal = !request.headers.authorization?.includes('Credential=known/')
      ? [403, 'InvalidAccessKeyId']
      : !request.url?.startsWith('/films?')
        ? [404, 'NoSuchBucket']
        : null
    const [status, code] = refusal ?? [200, '']
    response.writeHead(Number(status)).end(code ? `<Error><Code>${code}</Code></Error>` : '<ListBucketResult/>')
  })
  onTestFinished(() => void server.close())
  return server
}

test.each<[string, bucket: string, key: string, Partial<Found>]>([
  ['that answers', 'films', 'known', { state: 'ok' }],
  [
    'that is not there',
    ...(['nothing', 'known'] as const),
    { state: 'broken', next: expect.stringContaining('`media.s3.bucket`') },
  ],
  [
    'that refuses the key',
    ...(['films', 'other'] as const),
    { state: 'broken', next: expect.stringContaining('`media.s3.accessKey`') },
  ],
])('a bucket for media %s is reported', async (_what, bucket, key, told) => {
  const { root, file } = await wellFolder()
  const keys = `accessKey: '\${S3_KEY}', secretKey: '\${S3_SECRET}'`
  const media = `media: { s3: { endpoint: '${addressOf(await bucketServer())}', bucket: ${bucket}, ${keys} } }\n`
  await writeFile(file, `${configOf()}${media}`)
  const { found } = await look(root, file, { S3_KEY: key, S3_SECRET: 'a secret of the bucket' })
  expect(found.find(({ check }) => check === 'media')).toMatchObject(told)
  expect(JSON.stringify(found)).not.toContain('a secret of the bucket')
})

test('another program at the address of a service that was killed is not taken for the service', async () => {
  const { root, data, file } = await wellFolder()
  const other = await listening((_, response) => response.end('{}'))
  onTestFinished(() => void other.close())
  const record = { url: addressOf(other), token: 'x', pid: process.pid }
  await writeFile(join(data, 'service', 'admin.json'), JSON.stringify(record), { mode: 0o600 })
  const { brokenOnes } = await look(root, file)
  expect(brokenOnes).toMatchObject([{ check: 'service', says: expect.stringContaining('does not answer at') }])
})
