import { createReadStream } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CodedError, StandardError } from '#contract/errors/failures.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { microUsd } from '#contract/money.ts'
import { defineOperation, isIdempotent, type Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { Exchange } from '#service/http/exchange.ts'
import { Claims } from '#service/http/idempotency/claims.ts'
import { keyOf, oncePerKey } from '#service/http/idempotency/once-per-key.ts'
import { json, type Reply, type Work } from '#service/http/route.ts'
import { agreed } from '../../../agreed.ts'
import { temporaryFolder } from '../../../temporary-folder.ts'
import { claims, closeAll, face, type KeyFixture, openKeyFixture } from './key-fixture.ts'

/** An operation of a service to come, whose published status for a reused key is 400. */
const chainCall = defineOperation({
  id: 'callChain',
  method: 'POST',
  path: '/crypto/rpc/{network}',
  tag: 'Chain',
  summary: 'Calls a chain',
  auth: ['apiKey'],
  charge: 'usage',
  reusedKeyStatus: 400,
  limit: 'read',
  request: { params: z.object({ network: z.string() }), body: z.looseObject({}) },
  answer: { json: z.looseObject({}) },
  failures: { 400: StandardError },
})

let fixture: KeyFixture
let account: string
let keyed: Claims
beforeEach(async () => {
  fixture = await openKeyFixture()
  await fixture.opened.key(1)
  account = (await fixture.opened.store.read.selectFrom('account').select('id').executeTakeFirstOrThrow()).id
  keyed = new Claims({ store: fixture.store, clock: fixture.opened.clock, owner: 'this test' })
})
afterEach(() => closeAll([fixture]))

interface Sent {
  operation?: Operation
  key?: string
  network?: string
  body?: unknown
}

/** One request as the pipeline hands it over. */
function send(run: (work: Work) => Promise<Reply>, { operation = chainCall, ...sent }: Sent = {}): Promise<Response> {
  const { key = 'one', network = 'base', body = { method: 'eth_call' } } = sent
  const exchange = new Exchange({
    requestId: uuidV7(fixture.opened.clock.now()),
    address: '127.0.0.1',
    signal: new AbortController().signal,
    vendor: 'service',
    requestHeaders: name => (name === 'idempotency-key' ? [key] : []),
  })
  exchange.principal = { kind: 'key', account, keyId: 'key', plan: 'default' } as never
  const service = {
    store: fixture.store,
    clock: fixture.opened.clock,
    log: { info() {}, warn() {}, error() {} },
    settings: { vendor: 'service' },
    guards: { failed() {} },
    claims: keyed,
  } as never
  const request = { params: { network }, query: undefined, body }
  const named = keyOf(operation, exchange)
  if (named === null) throw new Error('The operation takes no key.')
  return oncePerKey(named, { operation, exchange, request, requireNewWork: () => undefined, service }, run)
}

const statusOf = (response: Promise<Response>) =>
  response.then(
    answer => answer.status,
    error => (error instanceof ServiceError ? error.status : error),
  )

describe('an operation that costs takes a key by itself', () => {
  test('and answers a repeat that keeps nothing with the charge', async () => {
    let worked = 0
    const run = async () => json({ worked: ++worked })
    expect(await (await send(run)).json()).toEqual({ worked: 1 })
    const again = await send(run)
    expect([again.headers.get('idempotent-replayed'), await again.json()]).toEqual(['true', { worked: 1 }])
  })

  test('and says which status a key with another request has', async () => {
    await send(async () => json({}))
    expect(await statusOf(send(async () => json({}), { body: { method: 'eth_blockNumber' } }))).toBe(400)
    expect(await statusOf(send(async () => json({}), { network: 'solana' }))).toBe(400)
    const ofSuspended = '403'
    expect(Object.keys(chainCall.failures)).toEqual(['400', ofSuspended, '409'])
  })

  test('and its description says so', () => {
    const costly = (operations as readonly Operation[]).filter(isIdempotent)
    expect(costly.map(({ id }) => id)).toEqual(expect.arrayContaining(['createChatCompletion', 'queueVideo']))
    for (const { failures, reusedKeyStatus } of costly) {
      const inUse = { error: 'In use.', code: 'IDEMPOTENCY_KEY_IN_USE' }
      expect(CodedError.parse(inUse)).toEqual(failures[409]?.parse(inUse))
      expect(failures[reusedKeyStatus ?? 422]?.safeParse(inUse).success).toBe(true)
    }
    expect(isIdempotent({ charge: 'usage', idempotent: false })).toBe(false)
    expect(isIdempotent({ charge: 'free', idempotent: true })).toBe(true)
    expect(isIdempotent({ charge: 'payment' })).toBe(false)
  })
})

test('a file is given again byte for byte, with its type and name', async () => {
  const folder = temporaryFolder('key')
  try {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, at) => at % 256))
    const path = join(folder, 'speech.mp3')
    await writeFile(path, bytes)
    const run = async (): Promise<Reply> => ({
      kind: 'file',
      read: () => createReadStream(path),
      bytes: bytes.byteLength,
      mimeType: 'audio/mpeg',
      filename: 'speech.mp3',
    })
    const first = await send(run)
    expect(Buffer.from(await first.arrayBuffer())).toEqual(bytes)
    await rm(path)
    const again = await send(run)
    expect(Buffer.from(await again.arrayBuffer())).toEqual(bytes)
    for (const name of ['content-type', 'content-disposition'])
      expect(again.headers.get(name)).toBe(first.headers.get(name))
  } finally {
  }
})

describe('a failure', () => {
  const broken = new ServiceError({ kind: 'X', status: 500, body: StandardError, retry: 'later' }, { error: 'Broken' })

  /** Charges the request, as a route does that fails afterwards. */
  async function charge({ requestId, holdId }: Work): Promise<void> {
    const atMs = fixture.opened.clock.now()
    const line = { sku: 'rpc', units: 1n, unitPricePicoUsd: 5_000_000n, amount: microUsd(5) }
    const lease = { owner: 'this test', untilMs: atMs + 1_000 }
    const ops: Op[] = [
      { op: 'hold', hold: holdId, account, amount: microUsd(5), lease, atMs },
      { op: 'capture', hold: holdId, request: requestId, model: null, lines: [line], atMs },
    ]
    const [outcome] = await fixture.store.commit([{ id: `${holdId}/charge`, ops }])
    expect(outcome).toMatchObject({ ok: true })
  }

  test('after a charge is the answer, and is given again', async () => {
    let worked = 0
    const run = async (work: Work) => {
      worked++
      await charge(work)
      throw broken
    }
    expect(await statusOf(send(run))).toBe(500)
    const again = await send(run)
    expect([again.status, again.headers.get('idempotent-replayed'), await again.json(), worked]).toEqual([
      500,
      'true',
      { error: 'Broken' },
      1,
    ])
  })

  test('that is unexpected keeps the key for the same request, which is charged at most once', async () => {
    const requests: string[] = []
    const run = async (work: Work) => {
      requests.push(work.requestId)
      if (requests.length === 1) throw new TypeError('A mistake.')
      return json({})
    }
    await expect(send(run)).rejects.toThrow('A mistake.')
    expect(await statusOf(send(run, { network: 'solana' }))).toBe(400)
    expect(await statusOf(send(run))).toBe(200)
    expect(new Set(requests).size).toBe(1)
  })

  test('of work that was taken up again never frees the key, because the first may have charged it', async () => {
    const requests: string[] = []
    const run = async (work: Work) => {
      requests.push(work.requestId)
      if (requests.length === 1) throw new TypeError('A mistake.')
      if (requests.length === 2) throw broken
      return json({})
    }
    await expect(send(run)).rejects.toThrow('A mistake.')
    expect(await statusOf(send(run))).toBe(500)
    expect(await statusOf(send(run))).toBe(200)
    expect(new Set(requests).size).toBe(1)
  })
})

test('the user may consent with the same key, because the 409 had no effect', async () => {
  const bearer = await fixture.opened.key(10)
  const ask = { key: 'one', path: '/video/queue', body: { image_url: face } }
  const question = await fixture.ask(bearer, ask)
  expect(question.status).toBe(409)
  expect(await claims(fixture)).toEqual([])
  const consented = { ...ask, body: { ...ask.body, consents: { demo: agreed } } }
  const first = await fixture.ask(bearer, consented)
  expect(first.status).toBe(200)
  expect(await (await fixture.ask(bearer, consented)).text()).toBe(await first.text())
})
