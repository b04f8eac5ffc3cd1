/** What each answer of a remote facilitator is taken for; a rail is told here, the connection is a real one. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { EvmPayment } from '#payments/evm/evm-rail.ts'
import { SettlementPaused } from '#payments/facilitators/rail.ts'
import {
  type FacilitatorHeaders,
  FacilitatorHttp,
  type FacilitatorRequest,
  RemoteFacilitator,
  type RemoteRail,
} from '#payments/facilitators/remote-facilitator.ts'
import { ChainUnavailable } from '#payments/payment/payment.ts'

const payTo = `0x${'c'.repeat(40)}`
const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
}
const payment = { rail: 'evm', key: 'k', option, signature: '0xsigned' } as EvmPayment

interface Asked {
  path: string
  headers: IncomingMessage['headers']
  body: unknown
}

let says: { status: number; body?: unknown; text?: string }
let asked: Asked[]
let host: string
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  asked.push({ path: `${request.method} ${request.url}`, headers: request.headers, body: text && JSON.parse(text) })
  response.writeHead(says.status, { location: '/elsewhere' }).end(says.text ?? JSON.stringify(says.body))
})
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})
beforeEach(() => {
  asked = []
})

const answerMs = { verify: 4_000, settle: 4_000, supported: 4_000 }
const rail: RemoteRail<EvmPayment> = {
  network: evmNetwork,
  signatureProblem: async () => null,
  payload: ({ signature }) => ({ signature }),
  isTransaction: id => /^0x[0-9a-f]{2}$/.test(id),
  chainRefusal: async () => null,
  offerProblem: async () => null,
}

interface Parts {
  url?: string
  headers?: FacilitatorHeaders
  settleMs?: number
  ports?: Partial<RemoteRail<EvmPayment>>
}
const noHeaders = () => ({})

function httpTo({ url, headers, settleMs = answerMs.settle }: Parts): FacilitatorHttp {
  return new FacilitatorHttp({
    url: url ?? `http://${host}/x402`,
    headers: headers ?? noHeaders,
    answerMs: { ...answerMs, settle: settleMs },
  })
}

/** Asks one question of a facilitator that says this. */
async function ask<Answer>(
  said: typeof says,
  question: (facilitator: RemoteFacilitator<EvmPayment>) => Promise<Answer>,
  parts: Parts = {},
): Promise<Answer | Error> {
  says = said
  const facilitator = new RemoteFacilitator(httpTo(parts), { ...rail, ...parts.ports })
  try {
    return await question(facilitator).catch((error: Error) => error)
  } finally {
    await facilitator.close()
  }
}

const noTransaction = 'a settlement without its transaction'

describe('a settlement', () => {
  const settled = (body: object, status = 200) => ({ status, body })
  const unsent = (why: string) => ({ state: 'unsent', why })
  const doubtful = (word: string) => ({ state: 'doubtful', why: `The facilitator reports ${word}.` })
  const strange = (status: string) => ({
    state: 'doubtful',
    why: `The facilitator answered ${status}, which cannot be read.`,
  })
  const failed = (errorReason?: unknown, transaction?: unknown) => settled({ success: false, errorReason, transaction })
  const turnedAway = (status: number, advice: string): [number, object, object] => [
    status,
    {},
    unsent(`The facilitator answered ${status}: ${advice}.`),
  ]

  const rows: [rule: string, said: typeof says, settlement: object][] = [
    [
      'with a transaction is one',
      settled({ success: true, transaction: '0xab' }),
      { state: 'settled', transaction: '0xab' },
    ],
    [
      'with a status of its own is one',
      settled({ success: true, transaction: '0xab' }, 500),
      { state: 'settled', transaction: '0xab' },
    ],
    ['without a transaction is doubtful', settled({ success: true, transaction: '' }), doubtful(noTransaction)],
    [
      'with a transaction of another chain is doubtful',
      settled({ success: true, transaction: 'abc' }),
      doubtful(noTransaction),
    ],
    ['that is pending is on its way', failed('settlement_pending', '0xab'), { state: 'sent', transaction: '0xab' }],
    ['that is pending without a transaction is doubtful', failed('settlement_pending'), doubtful('settlement_pending')],
    ['that failed with a transaction is doubtful', failed('invalid_payload', '0xab'), doubtful('invalid_payload')],
    ['that failed for no reason is doubtful', failed(null, null), doubtful('that it failed')],
    ['that failed for no word is doubtful', failed(''), doubtful('that it failed')],
    ['that failed in a sentence is doubtful', failed('pay me first'), doubtful('that it failed')],
    ['that failed in eighty characters is doubtful', failed('x'.repeat(80)), doubtful('x'.repeat(80))],
    ['that failed in one more is doubtful', failed('x'.repeat(81)), doubtful('that it failed')],
    ['of other members is doubtful', settled({ ok: true }), strange('200')],
    ['of no JSON is doubtful', { status: 200, text: '<html>' }, strange('200')],
    ['of a fault is doubtful', settled({}, 500), strange('500')],
    ['of 299 is doubtful', settled({}, 299), strange('299')],
    ['of 400 is doubtful', settled({}, 400), strange('400')],
    ['of a fault with a name is doubtful', settled({ errorType: 'bad_gateway' }, 502), strange('502 (bad_gateway)')],
    ['of a fault in a sentence is doubtful', settled({ errorType: 'pay me' }, 502), strange('502')],
  ]
  test.each(rows)('%s', async (_rule, said, settlement) => {
    expect(await ask(said, facilitator => facilitator.settle(payment))).toEqual(settlement)
  })

  test.each([
    turnedAway(300, 'it has moved; set its new address'),
    turnedAway(307, 'it has moved; set its new address'),
    turnedAway(399, 'it has moved; set its new address'),
    turnedAway(401, 'check the credentials that it is sent'),
    turnedAway(402, 'it requires a payment for this call'),
    turnedAway(403, 'check the credentials that it is sent'),
    turnedAway(404, 'check its address'),
    turnedAway(405, 'check its address'),
    turnedAway(429, 'its rate limit is reached'),
  ])(
    'that was turned away with %d was not sent, and the operator is told what to do',
    async (status, body, settlement) => {
      expect(await ask({ status, body }, facilitator => facilitator.settle(payment))).toEqual(settlement)
      expect(asked).toHaveLength(1)
    },
  )

  test('that did not reach the facilitator was not sent; nor was one whose headers cannot be created', async () => {
    const settle = (facilitator: RemoteFacilitator<EvmPayment>) => facilitator.settle(payment)
    expect(await ask({ status: 200 }, settle, { url: 'http://127.0.0.1:9' })).toEqual(
      unsent('The facilitator at 127.0.0.1:9 cannot be reached.'),
    )
    const headers = () => {
      throw new Error('a secret')
    }
    expect(await ask({ status: 200 }, settle, { headers })).toEqual(
      unsent(
        `The facilitator at ${host} was not contacted, because its headers could not be created; check the \`headers\` function.`,
      ),
    )
    expect(await ask({ status: 200 }, settle, { headers: () => ({ 'a name': 'x' }) })).toMatchObject({
      state: 'unsent',
    })
    const never = () => new Promise<never>(() => undefined)
    expect(await ask({ status: 200 }, settle, { headers: never, settleMs: 50 })).toMatchObject({ state: 'unsent' })
    expect(asked).toEqual([])
  })

  test.each([
    ['of 65,536 bytes is read', 65_536, { state: 'settled', transaction: '0xab' }],
    ['of one byte more is none', 65_537, { message: 'The facilitator’s answer is too large.' }],
  ])('%s', async (_rule, bytes, answer) => {
    const text = JSON.stringify({ success: true, transaction: '0xab', more: '' })
    const filled = text.replace('""', `"${'x'.repeat(bytes - text.length)}"`)
    expect(await ask({ status: 200, text: filled }, facilitator => facilitator.settle(payment))).toMatchObject(answer)
  })
})

describe('a verdict', () => {
  const invalid = (invalidReason?: unknown) => ({ status: 200, body: { isValid: false, invalidReason } })
  const refused = (reason: string) => ({ valid: false, reason })
  const vague = (reason: string, word: string) => ({ ...refused(reason), why: `The facilitator reports ${word}.` })
  const simulated = (word: string) => vague('simulation_failed', word)
  const rows: [rule: string, said: typeof says, verdict: object | null][] = [
    ['that it is good', { status: 200, body: { isValid: true } }, { valid: true }],
    ['that it is good, and why not', { status: 200, body: { isValid: true, invalidReason: 'x' } }, { valid: true }],
    ['of too little money', invalid('insufficient_funds'), refused('insufficient_funds')],
    ['of too little money, in other words', invalid('insufficient_balance'), refused('insufficient_funds')],
    [
      'of too little money on an EVM chain',
      invalid('invalid_exact_evm_insufficient_balance'),
      refused('insufficient_funds'),
    ],
    ['of a used nonce', invalid('invalid_exact_evm_nonce_already_used'), refused('nonce_used')],
    ['of its end', invalid('invalid_exact_evm_payload_authorization_valid_before'), refused('expired')],
    ['of its beginning', invalid('invalid_exact_evm_payload_authorization_valid_after'), refused('not_yet_valid')],
    [
      'of a simulation',
      invalid('invalid_exact_evm_transaction_simulation_failed'),
      simulated('invalid_exact_evm_transaction_simulation_failed'),
    ],
    ['of a simulation on Solana', invalid('a_simulation_failed'), simulated('a_simulation_failed')],
    ['of a state', invalid('invalid_transaction_state'), simulated('invalid_transaction_state')],
    ['of an unknown word', invalid('blocked'), vague('facilitator_refused', 'blocked')],
    ['of an unknown sentence', invalid('pay me first'), vague('facilitator_refused', 'that it failed')],
    ['of the name of what every object has', invalid('constructor'), vague('facilitator_refused', 'constructor')],
    ['of no reason', invalid(null), null],
    ['of an empty reason', invalid(''), null],
    ['of a reason that is not text', invalid(7), null],
    ['of something unexpected', invalid('unexpected_verify_error'), null],
    ['of the signature, which is checked here', invalid('invalid_exact_evm_Signature'), null],
    ['of its own fault', invalid('internal_error'), null],
    ['of a node that is slow', invalid('rpc_timeout'), null],
    ['of a node that is away', invalid('node_unavailable'), null],
    ['of other members', { status: 200, body: { ok: true } }, null],
    ['of no JSON', { status: 200, text: 'yes' }, null],
  ]
  test.each(rows)('%s', async (_rule, said, verdict) => {
    const answer = await ask(said, facilitator => facilitator.verify(payment))
    if (verdict) expect(answer).toEqual(verdict)
    else expect(answer).toBeInstanceOf(ChainUnavailable)
  })

  const ours: [rule: string, said: typeof says, why: string][] = [
    ...[
      'invalid_payment_requirements',
      'invalid_network',
      'invalid_x402_version',
      'invalid_exact_evm_token_name_mismatch',
      'invalid_exact_evm_missing_eip712_domain',
      'fee_payer_not_managed_by_facilitator',
      'invalid_exact_evm_payload_authorization_to_address_kyt',
    ].map((word): [string, typeof says, string] => [word, invalid(word), `The facilitator reports ${word}.`]),
    ['401', { status: 401, body: {} }, 'The facilitator answered 401: check the credentials that it is sent.'],
    ['429', { status: 429, text: 'slower' }, 'The facilitator answered 429: its rate limit is reached.'],
    [
      '400',
      { status: 400, body: { errorType: 'invalid_request', errorMessage: 'x' } },
      'The facilitator answered 400 (invalid_request), which cannot be read.',
    ],
  ]
  test.each(ours)(
    'of what is not the payer’s fault pauses settling, and the operator learns why: %s',
    async (_rule, said, why) => {
      const answer = await ask(said, facilitator => facilitator.verify(payment))
      expect(answer).toBeInstanceOf(SettlementPaused)
      expect(answer).toMatchObject({ why })
    },
  )

  test('in other words is explained by the chain, if the chain refuses too', async () => {
    const chainRefusal = async () => 'nonce_used' as const
    const verify = (facilitator: RemoteFacilitator<EvmPayment>) => facilitator.verify(payment)
    expect(await ask(invalid('blocked'), verify, { ports: { chainRefusal } })).toEqual(refused('nonce_used'))
    expect(await ask(invalid('insufficient_funds'), verify, { ports: { chainRefusal } })).toEqual(
      refused('insufficient_funds'),
    )
    const away = () => Promise.reject(new Error('away'))
    expect(await ask(invalid('blocked'), verify, { ports: { chainRefusal: away } })).toEqual(
      vague('facilitator_refused', 'blocked'),
    )
  })

  test('is not asked for where the signature is wrong', async () => {
    const ports = { signatureProblem: async () => 'invalid_signature' as const }
    expect(await ask({ status: 200 }, facilitator => facilitator.verify(payment), { ports })).toEqual(
      refused('invalid_signature'),
    )
    expect(asked).toEqual([])
  })

  test('is missing if there is no answer, and the cause is reported', async () => {
    const answer = await ask({ status: 200 }, facilitator => facilitator.verify(payment), { url: 'http://127.0.0.1:9' })
    expect(answer).toBeInstanceOf(ChainUnavailable)
    expect(answer).toMatchObject({ cause: { name: 'FacilitatorUnreached', cause: { code: 'ECONNREFUSED' } } })
  })
})

test('it gets our own option, with its credentials, as JSON; its list is requested without a body', async () => {
  const headers = ({ action, method, url }: FacilitatorRequest) => ({
    'x-signed': `${method} ${action} ${url.pathname}`,
  })
  await ask({ status: 200, body: {} }, facilitator => facilitator.verify(payment), { headers })
  await ask({ status: 200, body: {} }, facilitator => facilitator.settle(payment), { headers })
  await ask({ status: 200, body: {} }, facilitator => facilitator.problem(option), { headers })
  const terms = {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: option, payload: { signature: '0xsigned' } },
    paymentRequirements: option,
  }
  expect(asked.map(({ path, body }) => [path, body])).toEqual([
    ['POST /x402/verify', terms],
    ['POST /x402/settle', terms],
    ['GET /x402/supported', ''],
  ])
  expect(asked.map(({ headers: sent }) => [sent['x-signed'], sent.accept, sent['content-type']])).toEqual([
    ['POST verify /x402/verify', 'application/json', 'application/json'],
    ['POST settle /x402/settle', 'application/json', 'application/json'],
    ['GET supported /x402/supported', 'application/json', undefined],
  ])
})

describe('the operator is warned', () => {
  const kind = { x402Version: 2, scheme: 'exact', network: evmNetwork, extra: { feePayer: 'x' } }
  const list = (...kinds: unknown[]) => ({ status: 200, body: { kinds } })
  const noList = /did not report what it supports; check its address and credentials/
  const otherNetwork = /does not settle on eip155:8453; set another one/
  const rows: [rule: string, said: typeof says, problem: RegExp | null][] = [
    ['nothing where it settles on the network', list(kind), null],
    ['nothing where that is one of many', list(7, { ...kind, network: 'eip155:1' }, kind), null],
    ['nothing where it says nothing more of it', list({ ...kind, extra: null }), null],
    ['that it has another version', list({ ...kind, x402Version: 1 }), otherNetwork],
    ['that it has another scheme', list({ ...kind, scheme: 'upto' }), otherNetwork],
    ['that it has another network', list({ ...kind, network: 'eip155:1' }), otherNetwork],
    ['that it has nothing', list(), otherNetwork],
    ['that it has kinds of its own', list({ ...kind, extra: 7 }), otherNetwork],
    ['that it gives no list', { status: 200, body: { kinds: 7 } }, noList],
    ['that it refuses', { status: 403, body: { kinds: [kind] } }, /answered 403: check the credentials/],
    ['that it is asked too often', { status: 429, text: '' }, /answered 429: its rate limit is reached/],
  ]
  test.each(rows)('%s', async (_rule, said, problem) => {
    const answer = await ask(said, facilitator => facilitator.problem(option))
    if (problem) expect(answer).toMatch(problem)
    else expect(answer).toBeNull()
  })

  test('what the rail has against the option, by what the facilitator says of its network', async () => {
    const seen: unknown[] = []
    const offerProblem = async (...asked: unknown[]) => {
      seen.push(asked)
      return 'It is wrong.'
    }
    expect(await ask(list(kind), facilitator => facilitator.problem(option), { ports: { offerProblem } })).toBe(
      'It is wrong.',
    )
    expect(seen).toEqual([[option, { ...kind, signers: [] }]])
    const away = () => Promise.reject(new Error('away'))
    const ports = { offerProblem: away }
    expect(await ask(list(kind), facilitator => facilitator.problem(option), { ports })).toMatch(
      /node cannot be reached/,
    )
  })

  test('that a facilitator does not answer', async () => {
    const answer = await ask(list(kind), facilitator => facilitator.problem(option), { url: 'http://127.0.0.1:9' })
    expect(answer).toMatch(/^The facilitator at 127\.0\.0\.1:9 cannot be reached/)
  })
})

test('its address may end in slashes', async () => {
  await ask({ status: 200, body: {} }, facilitator => facilitator.problem(option), { url: `http://${host}/a/b//` })
  await ask({ status: 200, body: {} }, facilitator => facilitator.problem(option), { url: `http://${host}` })
  expect(asked.map(({ path }) => path)).toEqual(['GET /a/b/supported', 'GET /supported'])
})

test('it settles on the network of its rail', () => {
  expect(new RemoteFacilitator(httpTo({}), rail).supported()).toEqual([evmNetwork])
})
