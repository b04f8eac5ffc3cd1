/** Through the whole application on a socket: what comes before the route must let a payment through unchanged. */
import { request } from 'node:http'
import { wrapFetchWithPayment } from '@x402/fetch'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Listener } from '#service/http/listener.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { newAccount, startTestChain, type TestChain } from './test-chain.ts'
import { creditOf, encode, openWorld, payer, sign, stockClient, type World } from './top-up-world.ts'

let chain: TestChain
let world: World
let opened: OpenedService
let listener: Listener
let url: string
beforeAll(async () => {
  chain = await startTestChain()
  world = await openWorld(chain)
  opened = await openService({ payments: world.topUps })
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((incoming, bindings) => opened.service.app.fetch(incoming, bindings))
  url = `http://127.0.0.1:${listener.port}/api/v1/x402/top-up`
})
afterAll(async () => {
  await listener.close(1_000)
  await opened.close()
  await world.dispose()
  await chain.stop()
})

/** Sends headers as they are, a list as one line each. */
const post = (headers: Record<string, string | string[]>) =>
  new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers }, async response => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() })
    })
    outgoing.on('error', reject).end()
  })

test('the stock client pays a service on a socket with no body and no content type (brief §4.1)', async () => {
  const account = newAccount()
  await chain.mint(account.address, 5_000_000n)
  const response = await wrapFetchWithPayment(fetch, stockClient(account))(url, { method: 'POST' })
  expect(response.status).toBe(200)
  expect(response.headers.get('payment-response')).toMatch(/^[\w+/]+=*$/)
  expect(await response.json()).toMatchObject({ success: true, data: { amountCredited: 5, newBalance: 5 } })
  expect(await creditOf(world, account.address)).toBe(5_000_000n)
})

test('X13: a header that comes twice is one payment where both say the same, and a 400 where they differ', async () => {
  const { account, payment } = await payer(world)
  const [one, other] = [encode(payment), encode(await sign(account, world.option))]
  const conflict = await post({ 'payment-signature': [one, other] })
  expect([conflict.status, JSON.parse(conflict.text).details.reason]).toEqual([400, 'conflicting_headers'])
  const legacy = await post({ 'payment-signature': one, 'x-payment': other })
  expect([legacy.status, JSON.parse(legacy.text).details.reason]).toEqual([400, 'conflicting_headers'])
  expect((await post({ 'payment-signature': [one, one], 'x-payment': one })).status).toBe(200)
  expect(await creditOf(world, account.address)).toBe(5_000_000n)
})

test('a resend does not count towards the ten top-ups a minute, and is the same bytes each time', async () => {
  const { payment } = await payer(world)
  const header = { 'payment-signature': encode(payment) }
  const answers = []
  for (let time = 0; time < 15; time++) answers.push(await post(header))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
})
