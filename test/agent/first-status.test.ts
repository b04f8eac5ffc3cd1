/** What a user sees after no setup or a wrong one: the next step must help. */

import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { closeAgent, type FoundWallet, type OpenAgent, openAgent } from '#agent/open-agent.ts'
import type { OpenOptions } from '#agent/settings/agent-options.ts'
import { inOurWords } from '#agent/tools/tool-context.ts'
import { ClientError } from '#client/client-error.ts'
import { breakerFailures } from '#client/limits.ts'
import { getRateLimits } from '#contract/operations/rate-limits.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, littleServer } from '../client/little-server.ts'
import { fakeNode } from '../wallet/sample-solana.ts'
import { temporaryFolder } from './open-agent.ts'
import { walletKey } from './pretend-service.ts'

async function agentWith(options: Partial<OpenOptions>, found: FoundWallet = {}) {
  const dataFolder = temporaryFolder()
  const settings = { baseUrl: nobody, dataFolder, notesFolder: join(dataFolder, 'notes'), ...options }
  const agent = await openAgent(settings, found)
  onTestFinished(() => closeAgent(agent))
  return { agent, dataFolder }
}

/** Nothing listens at this port of any machine. */
const nobody = 'http://127.0.0.1:9/api/v1'
const unnamed = { isServiceNamed: false }

/** A service that answers everything so. */
async function answering(status: number, body: object): Promise<string> {
  const server = await littleServer((_, response) => answerJson(response, status, body))
  onTestFinished(server.close)
  return `${server.origin}/api/v1`
}

test('with nothing at all the very next command is named, on this wallet', async () => {
  const { agent, dataFolder } = await agentWith({})
  const status = await agent.toolWallet.status()
  expect(status).toMatchObject({ pays: 'nothing', creditMicroUsd: null })
  expect(status.next).toContain(`\`farebox wallet create --service ${nobody} --data '${dataFolder}'\``)
})

test('if no service is set, that is the first step', async () => {
  const { agent } = await agentWith({}, unnamed)
  expect((await agent.toolWallet.status()).next).toMatch(
    /^FAREBOX_BASE_URL is not set, so farebox uses http:\/\/127\.0\.0\.1:9\/api\/v1 .*Ask the user to set it .*create --service URL.*test money of `[^`]*farebox(\.mjs)? up`, .*local env`/,
  )
})

const refused = { error: 'Authentication failed' }
const apiKey = canaryApiKey

test.each([
  [
    'a service that is not there',
    { apiKey },
    {},
    null,
    /^The service at http:\/\/127\.0\.0\.1:9\/api\/v1 cannot be reached\. Check FAREBOX_BASE_URL/,
  ],
  [
    'one that does not exist and was not configured',
    { apiKey },
    unnamed,
    null,
    /^There is no service at http:\/\/127\.0\.0\.1:9, the default without FAREBOX_BASE_URL\. .*`farebox up`/,
  ],
  ['a key that it does not take', { apiKey }, {}, [401, refused], /^The service did not accept the API key/],
  ['a sign-in that it does not take', { walletKey }, {}, [401, refused], /did not accept .*clock of this machine/],
  ['a service without such a list', { apiKey }, {}, [404, { error: 'Not found' }], null],
] as const)('wallet_status tells of %s', async (_, options, found, answer, next) => {
  const baseUrl = answer ? await answering(answer[0], answer[1]) : nobody
  const { agent } = await agentWith({ ...options, baseUrl }, found)
  const status = await agent.toolWallet.status()
  expect(status.creditMicroUsd).toBeNull()
  if (next === null) expect(status.next).toBeNull()
  else expect(status.next).toMatch(next)
  expect(JSON.stringify(status.next)).not.toContain(canaryApiKey)
})

test('wallet_status names the time until which calls are held back, and says why in the middle of a sentence', async () => {
  const baseUrl = await answering(400, { error: 'no' })
  const { agent } = await agentWith({ apiKey, baseUrl })
  const call = { params: undefined, query: undefined, body: undefined }
  for (let count = 0; count < breakerFailures; count++)
    await agent.client.call(getRateLimits, call, { attempts: 1 }).catch(() => undefined)
  const { next, creditSeen } = await agent.toolWallet.status()
  expect(next).toMatch(/ Retry after \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\. /)
  expect(next).not.toMatch(/then on|until then|\.\.(?:\s|$)/)
  expect(creditSeen.unknown).toMatch(/^[a-z].*[^.]$/)
})

/** A service where every wallet has that credit. */
const credited =
  (balanceUsd: number): typeof fetch =>
  async () =>
    Response.json({
      success: true,
      data: {
        walletAddress: '0x0',
        balanceUsd,
        canConsume: balanceUsd > 0,
        minimumTopUpUsd: 5,
        suggestedTopUpUsd: 10,
        diemBalanceUsd: 0,
      },
    })

test.each([
  [
    'a service of this machine',
    'local',
    {},
    /^The wallet has never paid.*local fund 0x\w{40} --usd 10.*not send it real USDC/,
  ],
  ['another one', 'other', {}, /send USDC to 0x\w{40} on Base \(eip155:8453\)\. The first payment/],
  ['another one, with a node', 'other', { nodes: { eip155: nobody } }, /on Base \(eip155:8453\)\. The first payment/],
] as const)('an empty wallet of %s is to be funded first', async (_, where, options, says) => {
  const baseUrl = where === 'local' ? nobody : 'https://service.example/api/v1'
  const { agent } = await agentWith({ ...options, walletKey, baseUrl, fetch: credited(0) })
  expect((await agent.toolWallet.status()).next).toMatch(says)
  const { agent: rich } = await agentWith({ ...options, walletKey, baseUrl, fetch: credited(1) })
  expect((await rich.toolWallet.status()).next).not.toContain('fund')
})

test.each([
  [4_999_999n, true],
  [5_000_000n, false],
])('a wallet that holds %s units on its chain is to be funded: %s', async (units, isToBeFunded) => {
  const word = `0x${units.toString(16).padStart(64, '0')}`
  const node = await fakeNode({ eth_chainId: () => '0x2105', eth_call: () => word })
  onTestFinished(() => void node.close())
  const given = {
    walletKey,
    baseUrl: 'https://service.example/api/v1',
    fetch: credited(0),
    nodes: { eip155: node.url },
  }
  const { agent } = await agentWith(given)
  expect((await agent.toolWallet.status()).next?.includes('send USDC')).toBe(isToBeFunded)
})

const readLimits = ({ client }: OpenAgent): Promise<unknown> =>
  client.call(getRateLimits, { params: undefined, query: undefined, body: undefined }, { attempts: 1 })

async function failureOf(agent: OpenAgent, work = readLimits): Promise<ToolFailure> {
  const failing = inOurWords(agent, false, new AbortController().signal, () => work(agent))
  const failure = await failing.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ToolFailure)
  return failure as ToolFailure
}

test('a tool that reaches no service explains where its address came from', async () => {
  const { agent } = await agentWith({ apiKey }, unnamed)
  expect((await failureOf(agent)).facts.happened).toContain('the default without FAREBOX_BASE_URL')
})

test('a file on a host that cannot be reached is not blamed on the service', async () => {
  const { agent } = await agentWith({ apiKey }, unnamed)
  const cause = new ClientError('unreachable', 'x', { wasSent: false })
  const failing = () => Promise.reject(new ClientError('unreachable', 'x', { wasSent: false, cause }))
  const { happened, next } = (await failureOf(agent, failing)).facts
  expect(`${happened} ${next}`).toMatch(/^The finished file is on another host.*fetched without another charge\.$/)
})

test.each([
  [
    'named',
    {},
    /^The service did not answer the last requests.* Check FAREBOX_BASE_URL and whether the service is running/,
  ],
  ['that was not configured', unnamed, /the default without FAREBOX_BASE_URL/],
] as const)(
  'calls that are held back after a service %s was not there say that, and blame no request',
  async (_, found, words) => {
    const { agent } = await agentWith({ apiKey }, found)
    for (let count = 0; count < breakerFailures; count++) await failureOf(agent)
    const { happened, next, charged, retryAtMs } = (await failureOf(agent)).facts
    expect(`${happened} ${next}`).toMatch(words)
    expect([charged, retryAtMs]).toEqual([0n, expect.any(Number)])
  },
)

/** A node of Base where every address holds that. */
const baseWith = async (units: bigint) => {
  const node = await littleServer((seen, response) => {
    const { id, method } = JSON.parse(seen.body)
    const result = method === 'eth_chainId' ? '0x2105' : `0x${units.toString(16).padStart(64, '0')}`
    answerJson(response, 200, { jsonrpc: '2.0', id, result })
  })
  onTestFinished(node.close)
  return node.origin
}

test.each([
  ['a node that answers', async () => ({ eip155: await baseWith(2_500_000n) }), 2_500_000n, null],
  ['no node', async () => ({ eip155: 'none' }), null, /the settings name no node/],
  ['a node that is not there', async () => ({ eip155: 'http://127.0.0.1:9' }), null, /did not answer/],
  ['a service of this machine', async () => ({}), null, /service is on this machine/],
] as const)('wallet_status tells what the wallet holds, or why it cannot: %s', async (what, nodes, held, why) => {
  const isLocal = what === 'a service of this machine'
  const baseUrl = isLocal ? nobody : 'https://service.example/api/v1'
  const { agent } = await agentWith({ walletKey, baseUrl, nodes: await nodes(), fetch: credited(1) })
  const { onChain, creditMicroUsd, creditSeen, atMs } = await agent.toolWallet.status()
  expect(onChain).toMatchObject([{ network: 'eip155:8453', amountMicroUsd: held }])
  expect(onChain[0]?.unknown).toEqual(why === null ? null : expect.stringMatching(why))
  expect(creditMicroUsd).toBe(1_000_000n)
  expect(atMs - (creditSeen.atMs ?? 0)).toBeLessThan(60_000)
})
