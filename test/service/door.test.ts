import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { paymentRequired } from '#contract/wire/headers.ts'
import { DemoChat, DemoVideo, demoModels, type OpenService, openService, type ServiceOptions } from '#service/index.ts'
import { temporaryFolder } from '../temporary-folder.ts'

let folder: string
let service: OpenService

/** Nothing of the chain is asked before a payment comes, so none is here. */
const optionsFor = (folder: string): ServiceOptions => ({
  publicUrl: 'https://api.example.com/',
  folder,
  secrets: ['a secret of the door, thirty-two bytes long'],
  models: demoModels({
    chat: new DemoChat({ pause: async () => undefined }),
    video: new DemoVideo({ workFolder: join(folder, 'engines') }),
  }),
  payments: {
    options: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '5000000',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        payTo: '0x000000000000000000000000000000000000dEaD',
        maxTimeoutSeconds: 300,
        extra: { name: 'USD Coin (local)', version: '2' },
      },
    ],
    rpcUrl: 'http://127.0.0.1:1',
    confirmations: 0,
    facilitatorKey: `0x${'11'.repeat(32)}`,
  },
})

beforeEach(async () => {
  folder = temporaryFolder('door')
  service = await openService(optionsFor(folder))
})

afterEach(() => service.close())

const chat = (key: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
  body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }),
})

test('a customer with credit is answered without a socket, and one without is not', async () => {
  const [rich, poor] = [await service.createKey({ usd: '1', label: 'first' }), await service.createKey({ usd: '0' })]
  const address = 'https://api.example.com/api/v1/chat/completions'
  const answer = await service.fetch(new Request(address, chat(rich.key)))
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ object: 'chat.completion', model: 'demo-chat' })
  expect((await service.fetch(new Request(address, chat(poor.key)))).status).toBe(402)
})

test('a 402 of a top-up offers what was set', async () => {
  const answer = await service.fetch(new Request('https://api.example.com/api/v1/x402/top-up', { method: 'POST' }))
  expect(answer.status).toBe(402)
  expect(await answer.json()).toMatchObject({ accepts: [{ network: 'eip155:8453', amount: '5000000' }] })
})

test('it listens where configured, and no longer once it is closed', async () => {
  const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
  const { key } = await service.createKey({ usd: '1' })
  const address = `http://127.0.0.1:${port}/api/v1/chat/completions`
  expect((await fetch(address, chat(key))).status).toBe(200)
  await service.close()
  await expect(fetch(address, chat(key))).rejects.toThrow()
})

test('its folder belongs to one service until it is closed, and is found again', async () => {
  await expect(openService(optionsFor(folder))).rejects.toThrow()
  const { key } = await service.createKey({ usd: '1' })
  await service.close()
  service = await openService(optionsFor(folder))
  const answer = await service.fetch(new Request('https://api.example.com/api/v1/chat/completions', chat(key)))
  expect(answer.status).toBe(200)
})

test.each(['', 'five', '-1', '0x5', '1e3'])('%j is not a valid initial credit', async usd => {
  await expect(service.createKey({ usd })).rejects.toThrow('is not an amount in USD')
})

test('with prepaid keys alone: no payment is offered or taken, and keys work', async () => {
  const { payments: _, ...options } = optionsFor(join(folder, 'prepaid'))
  const prepaid = await openService(options)
  try {
    const { key } = await prepaid.createKey({ usd: '1' })
    const api = 'https://api.example.com/api/v1'
    expect((await prepaid.fetch(new Request(`${api}/chat/completions`, chat(key)))).status).toBe(200)
    const topUp = (headers: Record<string, string> = {}) =>
      prepaid.fetch(new Request(`${api}/x402/top-up`, { method: 'POST', headers }))
    const offer = await topUp()
    expect([offer.status, await offer.json()]).toEqual([402, { x402Version: 2, accepts: [] }])
    expect(paymentRequired.parse(offer.headers.get('payment-required') ?? '')).toMatchObject({
      error: expect.stringContaining('accepts no payments'),
      accepts: [],
    })
    const flat = { x402Version: 2, scheme: 'exact', network: 'base', payload: {} }
    const refused = await topUp({ 'x-payment': Buffer.from(JSON.stringify(flat)).toString('base64') })
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ details: { reason: 'unsupported_network', networks: [] } }),
    ])
  } finally {
    await prepaid.close()
  }
})

test('a credit that a rule of the tables refuses makes the ledger read-only, though no call was charged', async () => {
  const readiness = async () => (await service.fetch(new Request('https://api.example.com/readyz'))).status
  expect(await readiness()).toBe(200)
  const ledger = new DatabaseSync(join(folder, 'farebox.db'))
  ledger.exec(`CREATE TRIGGER damaged BEFORE INSERT ON entry_row
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END`)
  ledger.close()
  await expect(service.createKey({ usd: '1' })).rejects.toMatchObject({ kind: 'broken_rule' })
  await expect.poll(readiness).toBe(503)
})
