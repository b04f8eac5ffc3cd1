import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { payingFetch } from '#agent/fetch/paying-fetch.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { queueVideo } from '#contract/operations/video.ts'
import { SigningKey } from '#ledger/charges/receipts.ts'
import {
  answerMicroUsd,
  closeAll,
  hello,
  type KeyFixture,
  openKeyFixture,
} from '../service/http/idempotency/key-fixture.ts'
import { openAgent } from './open-agent.ts'

type Answers = (request: Request, answer: Response) => Response | Promise<Response>

const asItIs: Answers = (_, answer) => answer

let fixture: KeyFixture
let bearer: string
let agent: Awaited<ReturnType<typeof openAgent>>
/** What stands between the agent and the real service. */
let between: Answers
/** Added to each request by a proxy. */
let added: Record<string, string>
const paths: string[] = []
beforeEach(async () => {
  fixture = await openKeyFixture()
  bearer = await fixture.opened.key(2)
  between = asItIs
  added = {}
  paths.length = 0
  agent = await openAgent({
    baseUrl: 'http://127.0.0.1:8402/api/v1',
    apiKey: bearer,
    clock: fixture.opened.clock,
    fetch: async request => {
      paths.push(new URL(request.url).pathname.replace('/api/v1', ''))
      const headers = { ...Object.fromEntries(request.headers), ...added }
      return between(request, await fixture.opened.service.app.fetch(new Request(request, { headers })))
    },
  })
})
afterEach(async () => {
  await agent.close()
  await closeAll([fixture])
})

const chat = (prompt: string) =>
  agent.context().call(createChatCompletion, {
    params: undefined,
    query: undefined,
    body: { ...hello, messages: [{ role: 'user' as const, content: prompt }], max_tokens: 20 },
  })

const charges = () => agent.toolWallet.charges(10)

const withHeader = (answer: Response, receipt: string | null): Response => {
  const headers = new Headers(answer.headers)
  if (receipt === null) headers.delete('x-farebox-receipt')
  else headers.set('x-farebox-receipt', receipt)
  return new Response(answer.body, { status: answer.status, headers })
}

const isChat = ({ url }: Request) => url.endsWith('/chat/completions')
const isKeys = ({ url }: Request) => url.endsWith('/receipt_keys')

const forged = new SigningKey('of somebody else, who is no service')
const claimsOf = (receipt: string | null) =>
  JSON.parse(Buffer.from((receipt ?? '').split('.')[1] ?? '', 'base64url').toString()) as object

test('a paid call keeps its receipt, verified, with what was used', async () => {
  const { paid } = await chat('one')
  expect([paid.chargedMicroUsd, paid.receiptProblem]).toEqual([answerMicroUsd, undefined])
  expect(await charges()).toMatchObject([
    {
      kind: 'charge',
      state: 'verified',
      amountMicroUsd: answerMicroUsd,
      what: 'A chat with scripted',
      model: 'scripted',
      usage: [
        { sku: 'chat.input', units: '5' },
        { sku: 'chat.output', units: '3' },
      ],
      problem: null,
    },
  ])
  await chat('two')
  expect(paths.filter(path => path === '/farebox/receipt_keys')).toHaveLength(1)
})

describe('a call of a program by the paying fetch', () => {
  const post = (more: object) => {
    const fetch = payingFetch(agent, { takesConsents: true })
    return fetch('http://127.0.0.1:8402/api/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...hello, max_tokens: 20, ...more }),
    })
  }
  const verified = { kind: 'charge', state: 'verified', amountMicroUsd: answerMicroUsd, what: 'A chat with scripted' }

  test('keeps its receipt as a tool does, once its answer is read', async () => {
    const answer = await post({})
    expect(await answer.json()).toMatchObject({ object: 'chat.completion' })
    expect(await charges()).toMatchObject([verified])
  })

  test('has the receipt of a stream later', async () => {
    const answer = await post({ stream: true })
    expect(await answer.text()).toContain('[DONE]')
    expect(await charges()).toMatchObject([verified])
  })

  test('has it once through Cloudflare, which replaces the id of an answer', async () => {
    added = { 'cf-ray': '9c40f4f908af1229-FRA' }
    between = (_request, answer) => {
      const headers = new Headers({ ...Object.fromEntries(answer.headers), ...added })
      return new Response(answer.body, { status: answer.status, headers })
    }
    await (await post({ stream: true })).text()
    expect(await charges()).toMatchObject([verified])
  })

  test('has the receipt of an answer that the program did not read', async () => {
    const answer = await post({})
    await answer.body?.cancel()
    expect(await charges()).toMatchObject([verified])
  })

  test('is reported if the service’s receipt differs from its answer', async () => {
    between = (request, answer) =>
      isChat(request) ? withHeader(answer, forged.sign(claimsOf(answer.headers.get('x-farebox-receipt')))) : answer
    expect(await (await post({})).json()).toMatchObject({ object: 'chat.completion' })
    expect(await charges()).toMatchObject([{ state: 'unverified' }])
  })
})

describe('an invalid receipt is reported and kept, and the answer delivered', () => {
  test.each<[string, (receipt: string | null) => string, string, string]>([
    ['no receipt at all', () => 'x.y.z', 'unverified', 'The receipt cannot be read.'],
    [
      'a changed amount',
      receipt => {
        const [head, , signature] = (receipt ?? '').split('.')
        const body = Buffer.from(JSON.stringify({ ...claimsOf(receipt), amount_micro_usd: '1' })).toString('base64url')
        return `${head}.${body}.${signature}`
      },
      'unverified',
      'The signature of the receipt is invalid.',
    ],
    [
      'another account’s key',
      receipt => forged.sign(claimsOf(receipt)),
      'unverified',
      'The receipt is signed with an unknown key.',
    ],
  ])('%s', async (_rule, change, state, problem) => {
    between = (request, answer) =>
      isChat(request) ? withHeader(answer, change(answer.headers.get('x-farebox-receipt'))) : answer
    const { answer, paid } = await chat('one')
    expect(answer.choices[0]?.message.content).toBe('one two three')
    expect(paid.receiptProblem).toBe(problem)
    expect(await charges()).toMatchObject([{ state, problem }])
  })

  test('one of another call', async () => {
    await chat('one')
    const first = (await agent.receipts.list(1))[0]?.receipt ?? null
    between = (request, answer) => (isChat(request) ? withHeader(answer, first) : answer)
    const { paid } = await chat('two')
    expect(paid.receiptProblem).toBe('The receipt is for another request.')
    expect((await charges()).map(({ state }) => state).sort()).toEqual(['differs', 'verified'])
  })

  test.each<[string, object, string]>([
    ['a refund', { kind: 'refund', amount_micro_usd: '9' }, 'The receipt is for a refund, not a charge.'],
    ['of another service', { iss: 'https://b.example/api/v1' }, 'The receipt is from another service.'],
  ])('one that its service signed, %s', async (_rule, changed, problem) => {
    between = async (request, answer) => {
      if (isChat(request)) {
        const claims = claimsOf(answer.headers.get('x-farebox-receipt'))
        return withHeader(answer, forged.sign({ ...claims, ...changed }))
      }
      if (!isKeys(request)) return answer
      const { id: kid, publicKey: x } = forged
      return Response.json({ keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' }] })
    }
    expect((await chat('one')).paid.receiptProblem).toBe(problem)
    expect(await charges()).toMatchObject([{ state: 'differs', problem }])
  })

  test('one of more than its answer says', async () => {
    between = async (request, answer) => {
      if (!isChat(request)) return answer
      const body = { ...((await answer.json()) as object), cost: { usd: 0.00003, diem: 0 } }
      return new Response(JSON.stringify(body), { status: 200, headers: answer.headers })
    }
    const { paid } = await chat('one')
    expect(paid.receiptProblem).toBe('The receipt is for 0.000035 USD, but the answer reports 0.00003 USD.')
    expect(await charges()).toMatchObject([{ state: 'differs', amountMicroUsd: answerMicroUsd }])
  })
})

test('work that was begun under an earlier request has its receipt by that name', async () => {
  between = (request, answer) => {
    if (!isChat(request)) return answer
    const headers = new Headers(answer.headers)
    headers.set('cf-ray', 'the request that took it up again')
    return new Response(answer.body, { status: answer.status, headers })
  }
  const { paid } = await chat('one')
  expect(paid.receiptProblem).toBeUndefined()
  expect(await charges()).toMatchObject([{ state: 'verified', amountMicroUsd: answerMicroUsd }])
})

describe('keys', () => {
  test('that cannot be fetched leave a receipt unchecked, until they can', async () => {
    between = (request, answer) => (isKeys(request) ? new Response('{}', { status: 500 }) : answer)
    const { paid } = await chat('one')
    expect(paid.receiptProblem).toBeUndefined()
    expect(await charges()).toMatchObject([{ state: 'unchecked', problem: null }])
    between = asItIs
    expect(await charges()).toMatchObject([{ state: 'verified' }])
  })

  test.each<[string, boolean, string]>([
    ['beside the former ones are taken: the secret has changed', true, 'verified'],
    ['in place of the former ones are from another key', false, 'unverified'],
  ])('that come %s', async (_rule, keepsFormer, state) => {
    await chat('one')
    const { id: kid, publicKey } = forged
    between = async (request, answer) => {
      if (isChat(request)) {
        const claims = claimsOf(answer.headers.get('x-farebox-receipt'))
        return withHeader(answer, forged.sign(claims))
      }
      if (!isKeys(request)) return answer
      const { keys } = (await answer.json()) as { keys: object[] }
      const added = { kty: 'OKP', crv: 'Ed25519', x: publicKey, kid, use: 'sig', alg: 'EdDSA' }
      return Response.json({ keys: [added, ...(keepsFormer ? keys : [])] })
    }
    await chat('two')
    expect((await charges()).map(charge => charge.state)).toContain(state)
  })
})

test('a service that sends none is no reason to worry', async () => {
  between = (request, answer) => {
    if (request.url.includes('/farebox/')) return Response.json({ error: 'Not found' }, { status: 404 })
    return isChat(request) ? withHeader(answer, null) : answer
  }
  const { paid } = await chat('one')
  expect(paid.receiptProblem).toBeUndefined()
  expect(await charges()).toMatchObject([{ state: 'unsigned', amountMicroUsd: answerMicroUsd, model: 'scripted' }])
  expect(paths.filter(path => path.startsWith('/farebox/'))).toEqual([])
})

test('what no tool has bought is fetched: a stream, a call whose answer was lost, a refund', async () => {
  await (await fixture.ask(bearer, { body: { stream: true } })).text()
  fixture.video.start = async () => ({ state: 'failed', reason: 'It could not.' })
  const started = await agent.context().start(queueVideo, {
    params: undefined,
    query: undefined,
    body: { model: 'demo-video', prompt: 'Fog', duration: '2s', resolution: '360p', audio: false },
  })
  expect(started.paid.receiptProblem).toBeUndefined()
  await expect
    .poll(async () => (await charges()).map(({ kind, state }) => `${kind} ${state}`).sort())
    .toEqual(['charge verified', 'charge verified', 'refund verified'])
  const [refund] = (await charges()).filter(({ kind }) => kind === 'refund')
  expect(refund?.amountMicroUsd).toBe(started.paid.chargedMicroUsd)
})
