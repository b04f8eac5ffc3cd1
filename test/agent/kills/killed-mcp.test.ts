import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Client as McpClient } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Client } from '#client/client.ts'
import { getWalletTransactions } from '#contract/operations/wallet.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import { readPolicy } from '#wallet/rules/policy.ts'
import { openWallet } from '#wallet/wallet.ts'
import { localService } from '../local-service.ts'
import { temporaryFolder } from '../open-agent.ts'

const bin = fileURLToPath(new URL('../../../bin/farebox.mjs', import.meta.url))
const arm = new URL('./arm-agent.ts', import.meta.url).href

/** Two processes of the real command for each point: all points only where that is asked for. */
const isWhole = process.env.FAREBOX_TEST_ALL === '1'

let service: Awaited<ReturnType<typeof localService>>
const data = temporaryFolder()

beforeAll(async () => {
  service = await localService()
}, 240_000)
afterAll(() => service?.close(), 60_000)

/** The point at which a long call has become a job that no client knows of yet. */
const atAJob = 'after the call is a job'

/** `farebox mcp` on the one data folder; armed where it is to die at a point. */
async function start(killedAt?: string) {
  const armed = killedAt === undefined ? [] : ['--import', arm]
  const order = killedAt === undefined ? {} : { kill: { point: killedAt, nth: 1 } }
  const env = {
    PATH: '',
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_DATA: data,
    FAREBOX_WALLET_KEY: service.wallet.privateKey,
    FAREBOX_PAYEE: service.payee,
    FAREBOX_ASK_ABOVE_USD: '5',
    FAREBOX_FAULT_ORDER: JSON.stringify(order),
    FAREBOX_TEST_LONG_CALLS: killedAt === atAJob ? '1' : '',
  }
  const client = new McpClient({ name: 'test', version: '1' }, { capabilities: {} })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [...armed, bin, 'mcp'], env, stderr: 'ignore' }),
  )
  return client
}

type Output = Record<string, unknown>

/** The call in a process of its own; what it says with success. */
async function call(name: string, args: Output): Promise<Output> {
  const client = await start()
  try {
    const result = await client.callTool({ name, arguments: args })
    expect(result.content).not.toEqual([])
    expect(result.isError ?? false).toBe(false)
    return result.structuredContent as Output
  } finally {
    await client.close()
  }
}

/** The same in a process that dies at the point, before a client has the result. */
async function callAndKill(killedAt: string, name: string, args: Output): Promise<void> {
  const client = await start(killedAt)
  try {
    await expect(client.callTool({ name, arguments: args })).rejects.toThrow(/closed/i)
  } finally {
    await client.close()
  }
}

/** Charges and top-ups in the service's own ledger, with what is left. */
async function ledger() {
  const key = await keyFromHex(service.wallet.privateKey)
  const wallet = openWallet({
    key,
    policy: readPolicy({ serviceUrl: service.baseUrl }),
    dataFolder: temporaryFolder(),
  })
  const client = new Client({ baseUrl: service.baseUrl, credential: { payer: wallet } })
  const params = { walletAddress: wallet.address }
  const { answer } = await client.call(getWalletTransactions, { params, query: { limit: 50 }, body: undefined })
  await client.close()
  const { transactions, currentBalance } = answer.data
  // One charge has an entry for each of its lines.
  const charged = transactions.filter(({ type }) => type === 'CHARGE').map(({ requestId }) => requestId)
  const topUps = transactions.filter(({ type }) => type === 'TOP_UP').length
  return { charges: new Set(charged).size, topUps, sum: sumOf(transactions), currentBalance }
}

const sumOf = (transactions: readonly { amount: number }[]) =>
  Math.round(transactions.reduce((sum, { amount }) => sum + amount * 1e6, 0)) / 1e6

test('a top-up whose process is killed after its payment left is paid once, and the next same call has it', async () => {
  await callAndKill('after the request left', 'wallet_top_up', { amount_usd: 5 })
  expect(await call('wallet_top_up', { amount_usd: 5 })).toMatchObject({ state: 'confirmed', amount_usd: 5 })
  const { receipts } = (await call('wallet_receipts', {})) as { receipts: { state: string }[] }
  expect(receipts).toMatchObject([{ state: 'confirmed' }])
  expect(await ledger()).toMatchObject({ topUps: 1, currentBalance: 5 })
}, 240_000)

const chat = (prompt: string) => ({ model: 'demo-chat', prompt, max_tokens: 20 })

test.each([
  'after the request left',
  'after the answer is kept',
  'before the result is written',
  ...(isWhole ? ['after the intent row', 'after the answer came'] : []),
])(
  'a chat whose process is killed %s is delivered by the next same call, and charged once',
  async point => {
    const before = await ledger()
    await callAndKill(point, 'chat', chat(point))
    const { answer } = await call('chat', chat(point))
    expect(answer).toEqual(expect.stringMatching(/./))
    const { charges, topUps, sum, currentBalance } = await ledger()
    expect([charges - before.charges, topUps, sum]).toEqual([1, 1, currentBalance])
  },
  240_000,
)

test('a chat whose process is killed once it is a job is delivered by that job in the next process, and charged once', async () => {
  const before = await ledger()
  const complete = DemoChat.prototype.complete
  const { promise: held, resolve: answerNow } = Promise.withResolvers<void>()
  const slow = vi.spyOn(DemoChat.prototype, 'complete').mockImplementation(async function (this: DemoChat, asked) {
    await held
    return complete.call(this, asked)
  })
  try {
    await callAndKill(atAJob, 'chat', chat('a long one'))
    const { jobs } = (await call('job_list', {})) as { jobs: { job_id: string; state: string }[] }
    const job = jobs.find(({ state }) => state === 'running')
    answerNow()
    let done: Output = {}
    for (let waits = 0; waits < 5 && typeof done.answer !== 'string'; waits++)
      done = await call('job_wait', { job_id: job?.job_id })
    expect(done).toMatchObject({ answer: expect.stringMatching(/./), charged_usd: expect.any(Number) })
    const { charges, sum, currentBalance } = await ledger()
    expect([charges - before.charges, sum]).toEqual([1, currentBalance])
  } finally {
    answerNow()
    slow.mockRestore()
  }
}, 240_000)

const video = { model: 'demo-video', duration: '2s', resolution: '360p', aspect_ratio: '1:1' }

test.each(['after the answer came', ...(isWhole ? ['after the answer is kept'] : [])])(
  'a video whose process is killed %s is one job, paid once',
  async point => {
    const before = await ledger()
    await callAndKill(point, 'video_create', { ...video, prompt: point })
    const { job_id } = await call('video_create', { ...video, prompt: point })
    const { jobs } = (await call('job_list', {})) as { jobs: { job_id: string }[] }
    expect(jobs.filter(job => job.job_id === job_id)).toHaveLength(1)
    expect((await ledger()).charges - before.charges).toBe(1)
  },
  240_000,
)

test.each(['before the result is written', ...(isWhole ? ['after the file is saved', 'after the file is noted'] : [])])(
  'a job whose process is killed %s is saved, and the next wait has its file',
  async point => {
    const { job_id } = await call('video_create', { ...video, prompt: `saved ${point}` })
    await callAndKill(point, 'job_wait', { job_id })
    const { file } = (await call('job_wait', { job_id })) as { file: { path: string } }
    expect((await readFile(file.path)).subarray(4, 8).toString()).toBe('ftyp')
  },
  240_000,
)
