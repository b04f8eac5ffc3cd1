/** Through the public door: what an operator sets decides who settles, and what for. */
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { TopUpRequired } from '#contract/wire/payment.ts'
import { type OpenService, openService, type PaymentSettings, type ServiceOptions } from '#service/index.ts'
import { canarySecret } from '../canary/canaries.ts'
import { answer, behaviours } from '../faults/twins/behaviours.ts'
import { evmSettler } from '../faults/twins/evm-settler.ts'
import { openHostileFacilitator } from '../faults/twins/hostile-facilitator.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { encode, type Loose, optionTo, sign } from './top-up-world.ts'

let chain: TestChain
let folder: string
const ends: (() => Promise<void>)[] = []
beforeAll(async () => {
  chain = await startTestChain()
})
afterAll(() => chain.stop())
beforeEach(() => {
  folder = temporaryFolder('settings')
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const option = optionTo(newAccount().address)

async function fundedKey() {
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAccount(key).address)
  return key
}

const open = async (settings: Partial<PaymentSettings>, log?: ServiceOptions['log']): Promise<OpenService> => {
  const service = await openService({
    publicUrl: 'https://api.example.com',
    folder,
    secrets: [canarySecret],
    models: [],
    payments: { options: [option], rpcUrl: chain.url, confirmations: 0, ...settings },
    ...(log ? { log } : {}),
  })
  ends.push(() => service.close())
  return service
}

async function pay(
  service: OpenService,
  account = newAccount(),
  accepted = option,
): Promise<{ status: number; body: Loose }> {
  await chain.mint(account.address, 5_000_000n)
  const headers = { 'payment-signature': encode(await sign(account, accepted)) }
  const response = await service.fetch(
    new Request('https://api.example.com/api/v1/x402/top-up', { method: 'POST', headers }),
  )
  return { status: response.status, body: await response.json() }
}

test('a key of our own settles', async () => {
  const { status, body } = await pay(await open({ facilitatorKey: await fundedKey() }))
  expect([status, body.data?.amountCredited]).toEqual([200, 5])
})

test('a remote facilitator settles, with the headers that sign us in there', async () => {
  const hostile = await openHostileFacilitator(evmSettler(chain.url, await fundedKey()), behaviours[0], 0)
  ends.push(() => hostile.close())
  hostile.settle = async ({ settler, question, response }) => answer(response, 200, await settler.settle(question))
  const headers = () => ({ authorization: 'Bearer of the operator' })
  const { status, body } = await pay(await open({ facilitator: { url: hostile.url, headers } }))
  expect([status, body.data?.amountCredited]).toEqual([200, 5])
  const settle = hostile.asked.find(({ path }) => path === 'POST /settle')
  expect(settle?.headers.authorization).toBe('Bearer of the operator')
  expect(
    hostile.asked.map(({ path }) => path),
    'it is asked at the start what it supports',
  ).toContain('GET /supported')
})

test('a link to buy USDC changes no payment, by a key or a remote facilitator', async () => {
  const hostile = await openHostileFacilitator(evmSettler(chain.url, await fundedKey()), behaviours[0], 0)
  ends.push(() => hostile.close())
  hostile.settle = async ({ settler, question, response }) => answer(response, 200, await settler.settle(question))
  const onRamp = 'https://buy.example/?to={address}'
  for (const settler of [{ facilitatorKey: await fundedKey() }, { facilitator: { url: hostile.url } }]) {
    const service = await open({ ...settler, onRamp })
    const asked = await service.fetch(new Request('https://api.example.com/api/v1/x402/top-up', { method: 'POST' }))
    const [offered] = TopUpRequired.parse(await asked.json()).accepts
    expect(offered?.extra).toEqual({ ...option.extra, onRamp })
    expect((await pay(service, newAccount(), offered)).status).toBe(200)
    await service.close()
  }
})

test('a cap of fees is kept', async () => {
  const service = await open({ facilitatorKey: await fundedKey(), feesPerHourWei: 0n })
  const { status, body } = await pay(service)
  expect([status, body.message]).toEqual([500, expect.stringMatching(/hourly cap on network fees/)])
})

const wallets: [contractWallets: boolean, answer: string, reason: string][] = [
  [false, 'is refused as a contract', 'contract_wallet'],
  [true, 'is asked itself, and this one says nothing', 'invalid_signature'],
]

test.each(wallets)('contract wallets set to %s: a payer with code %s', async (contractWallets, _, reason) => {
  const account = newAccount()
  await chain.ask('anvil_setCode', [account.address, '0x00'])
  const { status, body } = await pay(await open({ facilitatorKey: await fundedKey(), contractWallets }), account)
  expect([status, body.details?.reason]).toEqual([400, reason])
})

test('what is wrong is in the log from the start, and everything else is served', async () => {
  const told: string[] = []
  const note = (facts: object, message: string) => void told.push(`${message} ${JSON.stringify(facts)}`)
  const service = await open(
    { facilitatorKey: generatePrivateKey() },
    { info: () => undefined, warn: () => undefined, error: note },
  )
  await expect.poll(() => told).toEqual([expect.stringMatching(/^Payments cannot be settled\. .*no ETH/)])
  const models = await service.fetch(new Request('https://api.example.com/api/v1/models'))
  expect(models.status).toBe(200)
})

const unclear: [string, Partial<PaymentSettings>][] = [
  ['neither', {}],
  ['both', { facilitatorKey: generatePrivateKey(), facilitator: { url: 'https://facilitator.example' } }],
]

test.each(unclear)('a key or a remote facilitator, and not %s: a sentence at the start', async (_, settings) => {
  await expect(open(settings)).rejects.toThrow('set either facilitatorKey or facilitator')
})
