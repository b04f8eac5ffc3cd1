import { createPublicKey, verify } from 'node:crypto'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { modelOffline } from '#contract/errors/errors.ts'
import { microUsd } from '#contract/money.ts'
import { Receipt, ReceiptClaims, ReceiptKeys, Receipts, receiptType } from '#contract/operations/receipts.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { audit } from '#ledger/audit/audit.ts'
import { ChargeReceipts, SigningKey } from '#ledger/charges/receipts.ts'
import { recoverHolds } from '#ledger/charges/recover-holds.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { evmWallet } from '../access/identity/signed-header.ts'
import { grant, mustCommit } from '../ledger/store/sample-ops.ts'
import { openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import {
  answerBeats,
  answerMicroUsd,
  closeAll,
  hello,
  type KeyFixture,
  openKeyFixture,
} from './http/idempotency/key-fixture.ts'

const want = { 'x-farebox-want-receipt': 'true' }

let fixture: KeyFixture
let bearer: string
beforeEach(async () => {
  fixture = await openKeyFixture()
  bearer = await fixture.opened.key(1)
})
afterEach(async () => {
  expect((await audit(fixture.opened.database)).findings).toEqual([])
  await closeAll([fixture])
})

const read = (path: string, key = bearer) =>
  fixture.opened.request(`/api/v1/farebox${path}`, { headers: { authorization: `Bearer ${key}` } })

const requestOf = (answer: Response): string => answer.headers.get('cf-ray') ?? ''

const receiptOf = async (request: string) => Receipt.parse(await (await read(`/receipts/${request}`)).json())

const publishedKeys = async () => {
  const answer = await fixture.opened.request('/api/v1/farebox/receipt_keys')
  return ReceiptKeys.parse(await answer.json()).keys
}

const decoded = (part: string | undefined): unknown => JSON.parse(Buffer.from(part ?? '', 'base64url').toString())

/** Claims of a receipt that one of the published keys has signed; by Node's own functions, not by ours. */
async function verified(receipt: string | null): Promise<ReceiptClaims> {
  const [header, claims, signature] = (receipt ?? '').split('.')
  const said = decoded(header) as { kid: string }
  expect(said).toEqual({ alg: 'EdDSA', kid: expect.any(String), typ: receiptType })
  const key = (await publishedKeys()).find(({ kid }) => kid === said.kid)
  if (!key) throw new Error('The key of a receipt is not published.')
  const publicKey = createPublicKey({ key, format: 'jwk' })
  expect(verify(null, Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature ?? '', 'base64url'))).toBe(
    true,
  )
  return ReceiptClaims.parse(decoded(claims))
}

describe('a charge', () => {
  test('has a receipt that says what the ledger has captured', async () => {
    const answer = await fixture.ask(bearer, { headers: want })
    const receipt = await receiptOf(requestOf(answer))
    expect(receipt.refund).toBeNull()
    const { account, id } = await fixture.opened.store.read
      .selectFrom('api_key')
      .select(['account', 'id'])
      .executeTakeFirstOrThrow()
    expect(await verified(receipt.charge)).toEqual({
      iss: 'http://127.0.0.1:8402/api/v1',
      sub: account,
      iat: Math.floor(fixture.opened.clock.now() / 1000),
      kind: 'charge',
      request: requestOf(answer),
      operation: 'createChatCompletion',
      model: 'scripted',
      api_key: id,
      amount_micro_usd: `${answerMicroUsd}`,
      paid_with: { usd: `${answerMicroUsd}`, diem: '0' },
      lines: [
        { sku: 'chat.input', units: '5', unit_price_pico_usd: '1000000', amount_micro_usd: '5' },
        { sku: 'chat.output', units: '3', unit_price_pico_usd: '10000000', amount_micro_usd: '30' },
      ],
      written_off_micro_usd: '0',
    })
    expect(answer.headers.get('x-farebox-receipt')).toBe(receipt.charge)
  })

  test.each([[{}], [{ 'x-farebox-want-receipt': 'false' }], [{ 'x-farebox-want-receipt': 'yes' }]])(
    'has none in its answer where the caller did not want it there: %j',
    async headers => {
      const answer = await fixture.ask(bearer, { headers })
      expect(answer.headers.has('x-farebox-receipt')).toBe(false)
      expect((await receiptOf(requestOf(answer))).charge).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    },
  )

  test('of a wallet names its address, and what staking credit paid', async () => {
    const wallet = evmWallet()
    const address = wallet.address.toLowerCase()
    const account = walletAccountId(address)
    const atMs = fixture.opened.clock.now()
    await mustCommit(fixture.opened.store, ...openWalletAccount(address, atMs), grant(1000n, 'grant:w', account))
    const [request, day] = [uuidV7(atMs), atMs - (atMs % 86_400_000)]
    const lease = { owner: 'a test', untilMs: atMs }
    const line = { sku: 'chat.output', units: 50n, unitPricePicoUsd: 1_000_000n, amount: microUsd(50) }
    await mustCommit(
      fixture.opened.store,
      {
        op: 'hold',
        hold: request,
        account,
        amount: microUsd(40),
        lease,
        staking: { dayMs: day, granted: microUsd(30) },
        atMs,
      },
      { op: 'capture', hold: request, request, model: 'm', lines: [line], writeOff: microUsd(10), atMs },
    )
    const receipts = new ChargeReceipts({ ...fixture.opened, issuer: 'here', secret: 'another secret of a test' })
    await receipts.publishKey()
    expect(await verified((await receipts.of(account, request)).charge)).toMatchObject({
      sub: address,
      amount_micro_usd: '40',
      paid_with: { usd: '10', diem: '30' },
      written_off_micro_usd: '10',
    })
  })

  test('that a process died over has one of what its last checkpoint said', async () => {
    const { store, clock } = fixture.opened
    const { account } = await store.read.selectFrom('api_key').select('account').executeTakeFirstOrThrow()
    const [request, atMs] = [uuidV7(clock.now()), clock.now()]
    const lease = { owner: 'a dead process', untilMs: atMs }
    const lines = [{ sku: 'chat.output', units: 7n, unitPricePicoUsd: 1_000_000n, amount: microUsd(7) }]
    await mustCommit(
      store,
      { op: 'hold', hold: request, account, amount: microUsd(100), lease, atMs },
      { op: 'renew', hold: request, lease, owed: { request, model: 'scripted', lines } },
    )
    expect((await read(`/receipts/${request}`)).status).toBe(404)
    clock.pass(1000)
    expect(await recoverHolds(store, clock)).toBe(1)
    expect(await verified((await receiptOf(request)).charge)).toMatchObject({
      amount_micro_usd: '7',
      model: 'scripted',
    })
  })

  test('that failed for its engine is none', async () => {
    fixture.chat.play([{ fail: modelOffline() }])
    const answer = await fixture.ask(bearer, { headers: want })
    expect([answer.status, answer.headers.has('x-farebox-receipt')]).toEqual([503, false])
    expect((await read(`/receipts/${requestOf(answer)}`)).status).toBe(404)
  })
})

describe('a stream', () => {
  test('has its receipt once it has ended, and nothing of it in its events', async () => {
    const answer = await fixture.ask(bearer, { body: { stream: true }, headers: want })
    expect(answer.headers.has('x-farebox-receipt')).toBe(false)
    expect(await answer.text()).not.toContain('receipt')
    expect((await verified((await receiptOf(requestOf(answer))).charge)).amount_micro_usd).toBe(`${answerMicroUsd}`)
  })

  test('that its reader has left has one of what its engine made', async () => {
    fixture.chat.play([...words('one ', 'two '), 'silence'])
    const answer = await fixture.ask(bearer, { body: { stream: true } })
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.read()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const over = reader?.cancel()
    await vi.advanceTimersByTimeAsync(36_000)
    vi.useRealTimers()
    await over
    const claims = await verified((await receiptOf(requestOf(answer))).charge)
    expect(claims.lines.map(({ sku }) => sku)).toEqual(['chat.input.estimated', 'chat.output.estimated'])
  })
})

describe('a repeat under the same key', () => {
  test.each([false, true])('brings the receipt of the first charge, streamed: %s', async stream => {
    const first = await fixture.ask(bearer, { key: 'one', body: { stream }, headers: want })
    await first.text()
    const again = await fixture.ask(bearer, { key: 'one', body: { stream }, headers: want })
    const { charge } = await receiptOf(requestOf(first))
    expect(first.headers.get('x-farebox-receipt')).toBe(stream ? null : charge)
    expect([again.headers.get('idempotent-replayed'), again.headers.get('x-farebox-receipt')]).toEqual(['true', charge])
    expect((await read(`/receipts/${requestOf(again)}`)).status).toBe(404)
  })
})

describe('a video', () => {
  test('has a receipt of its charge, and one of its refund', async () => {
    fixture.video.start = async () => ({ state: 'failed', reason: 'It could not.' })
    const answer = await fixture.ask(bearer, { path: '/video/queue', headers: want })
    const request = requestOf(answer)
    await expect.poll(async () => (await receiptOf(request)).refund).not.toBeNull()
    const { charge, refund } = await receiptOf(request)
    expect(answer.headers.get('x-farebox-receipt')).toBe(charge)
    const charged = await verified(charge)
    expect(charged).toMatchObject({ kind: 'charge', operation: 'queueVideo', model: 'demo-video' })
    expect(charged.lines).toMatchObject([{ sku: 'video.second.360p', units: '2' }])
    expect(await verified(refund)).toMatchObject({
      kind: 'refund',
      request,
      amount_micro_usd: charged.amount_micro_usd,
      paid_with: charged.paid_with,
      reason: 'It could not.',
      lines: [],
    })
    const { data } = Receipts.parse(await (await read('/receipts')).json())
    expect(data).toEqual([
      { kind: 'refund', request, receipt: refund },
      { kind: 'charge', request, receipt: charge },
    ])
  })
})

describe('which account they belong to', () => {
  test.each([
    ['somebody else', async () => fixture.opened.key(1), 404],
    ['nobody', async () => 'fb_wrong', 401],
  ])('%s gets none, and learns nothing', async (_who, keyOf, status) => {
    const request = requestOf(await fixture.ask(bearer))
    const key = await keyOf()
    const [theirs, unknown] = [await read(`/receipts/${request}`, key), await read(`/receipts/${uuidV7(0)}`, key)]
    expect([theirs.status, unknown.status]).toEqual([status, status])
    expect(await theirs.text()).toBe(await unknown.text())
    const listed = await read('/receipts', key)
    expect(listed.status === 200 ? await listed.json() : listed.status).toEqual(
      status === 404 ? { object: 'list', data: [], next: null } : 401,
    )
    expect((await read(`/receipts?before=charge:${request}`, key)).status).toBe(status === 404 ? 400 : 401)
  })

  test.each([
    '/receipts/x',
    '/receipts/../receipts/A',
    '/receipts?limit=51',
    '/receipts?limit=0',
    '/receipts?before=7',
  ])('%s is a 400 or not found', async path => {
    expect([400, 404]).toContain((await read(path)).status)
  })
})

test('a list goes back page by page, and adds up to what the ledger has charged', async () => {
  const requests: string[] = []
  for (let call = 0; call < 5; call++) requests.unshift(requestOf(await fixture.ask(bearer)))
  const found: string[] = []
  let sum = 0n
  let next: string | null = null
  const pages: number[] = []
  do {
    const answer: Response = await read(`/receipts?limit=2${next === null ? '' : `&before=${next}`}`)
    const page = Receipts.parse(await answer.json())
    pages.push(page.data.length)
    for (const { request, receipt } of page.data) {
      found.push(request)
      sum += BigInt((await verified(receipt)).amount_micro_usd)
    }
    next = page.next
  } while (next !== null)
  expect([found, pages, sum]).toEqual([requests, [2, 2, 1], 5n * answerMicroUsd])
})

describe('keys', () => {
  test('stay published when the secret changes, and old receipts stay good', async () => {
    const request = requestOf(await fixture.ask(bearer))
    const { charge } = await receiptOf(request)
    const { account } = await fixture.opened.store.read
      .selectFrom('api_key')
      .select('account')
      .executeTakeFirstOrThrow()
    fixture.opened.clock.pass(1000)
    const rotated = new ChargeReceipts({
      ...fixture.opened,
      issuer: 'http://127.0.0.1:8402/api/v1',
      secret: 'the secret that follows, of 32 characters',
    })
    await rotated.publishKey()
    await rotated.publishKey()
    const anew = (await rotated.of(account, request)).charge
    expect(anew).not.toBe(charge)
    expect(await verified(anew)).toEqual(await verified(charge))
    const newest = new SigningKey('the secret that follows, of 32 characters')
    expect((await publishedKeys()).map(({ kid }) => kid)).toEqual([newest.id, expect.any(String)])
  })

  test('derive only from the secret, and differ between services', () => {
    const [one, same, other] = ['a secret', 'a secret', 'b secret'].map(secret => new SigningKey(secret))
    expect(one?.sign({ a: 1 })).toBe(same?.sign({ a: 1 }))
    expect(one?.id).not.toBe(other?.id)
  })
})

test('the stock OpenAI client sees answers and streams as it always does', async () => {
  const openai = new OpenAI({
    baseURL: 'http://127.0.0.1:8402/api/v1',
    apiKey: bearer,
    maxRetries: 0,
    defaultHeaders: want,
    fetch: async (url, init) => fixture.opened.request(new URL(`${url}`).pathname, init as RequestInit),
  })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const whole = await openai.chat.completions.create({ model: hello.model, messages }).withResponse()
  expect(whole.data.choices[0]?.message.content).toBe('one two three')
  expect(await verified(whole.response.headers.get('x-farebox-receipt'))).toMatchObject({
    request: requestOf(whole.response),
  })
  fixture.chat.play(answerBeats)
  const { data, response } = await openai.chat.completions
    .create({ model: hello.model, messages, stream: true, stream_options: { include_usage: true } })
    .withResponse()
  const chunks = []
  for await (const chunk of data) chunks.push(chunk)
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('one two three')
  expect(chunks.at(-1)?.usage).toEqual(used(5, 3))
  expect((await verified((await receiptOf(requestOf(response))).charge)).amount_micro_usd).toBe(`${answerMicroUsd}`)
})

test('a charge is answered though its receipt cannot be made, and has it later', async () => {
  let isAway = false
  const other = await openFixture({
    storeBefore: real => ({
      read: new Proxy(real.read, {
        get(target, name) {
          if (name === 'selectFrom' && isAway) throw new Error('The ledger is unreachable.')
          const member = Reflect.get(target, name, target)
          return typeof member === 'function' ? member.bind(target) : member
        },
      }),
      soleOwner: real.soleOwner,
      commit: async units => {
        isAway = units.some(({ ops }) => ops.some(({ op }) => op === 'capture'))
        return real.commit(units)
      },
      prune: (...order) => real.prune(...order),
      close: () => real.close(),
    }),
  })
  other.engine.play(answerBeats)
  const customer = await other.customer(1)
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${customer.key}` }
  const answer = await other.chat(customer, {}, { headers: { ...headers, ...want } })
  expect([answer.status, answer.headers.has('x-farebox-receipt'), isAway]).toEqual([200, false, true])
  isAway = false
  const later = await other.service.request(`/api/v1/farebox/receipts/${requestOf(answer)}`, { headers })
  expect(Receipt.parse(await later.json()).charge).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  await other.service.close()
})
