import { expect, test } from 'vitest'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, littleServer } from '../client/little-server.ts'
import { failureOf, questionOf } from './outcome-of.ts'
import { payingAgents } from './paying-agent.ts'
import { option } from './pretend-service.ts'

const { setUp, closing } = payingAgents()

test('after a 402 it tops up once by the smallest amount, repeats the call, and reports the cost and the remaining credit', async () => {
  const { server, agent } = await setUp()
  const { answer, paid } = await agent.chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(server.ledger.signatures).toHaveLength(1)
  expect(paid).toEqual({
    ...{ chargedMicroUsd: 1_000n, creditLeftMicroUsd: 4_999_000n, budgetLeftMicroUsd: 5_000_000n },
    notes: [
      expect.stringMatching(
        /^There was too little credit, so the wallet first bought credit for 5\.00 USD \(pay_\w+\)\.$/,
      ),
    ],
  })
  const chats = server.seen.filter(seen => seen.path.endsWith('/chat/completions'))
  const signIns = chats.map(seen => seen.headers['sign-in-with-x'])
  expect(new Set(signIns).size).toBe(2)
  expect((await agent.chat('another', true)).paid).not.toHaveProperty('notes')
})

test('a refused payment that is sent again is reported by the call that needed it', async () => {
  const { server, agent } = await setUp({ payments: ['reject', 'credit'] })
  await failureOf(agent.chat())
  expect((await agent.chat()).paid.notes).toEqual([
    expect.stringMatching(/^An earlier payment of 5\.00 USD was sent again and is now credited \(pay_\w+\)\.$/),
  ])
  expect(server.ledger.signatures).toHaveLength(2)
  expect(new Set(server.ledger.signatures).size).toBe(1)
})

test('credit that is there is spent first', async () => {
  const { server, agent } = await setUp({ credit: 3 })
  await agent.chat()
  expect(server.countOf('/x402/top-up')).toBe(0)
})

test('a service that keeps asking for money is paid once', async () => {
  const { server, agent } = await setUp({ isNeverPaid: true })
  for (let count = 0; count < 4; count++) {
    const { happened } = await failureOf(agent.chat(`again ${count}`))
    expect(happened).not.toContain('IGNORE')
  }
  expect(server.ledger.signatures).toHaveLength(1)
})

test('a call that fails after a payment reports the payment', async () => {
  const { agent } = await setUp({ isNeverPaid: true })
  const { happened, charged } = await failureOf(agent.chat())
  expect(happened).toMatch(
    / There was too little credit, so the wallet first bought credit for 5\.00 USD \(pay_\w+\)\.$/,
  )
  expect(charged).toBe(0n)
  expect((await failureOf(agent.chat())).happened).not.toContain('bought credit')
})

test('one call pays once, also where the wallet would pay again at once', async () => {
  const { server, agent } = await setUp({ isNeverPaid: true }, { settings: { cooldownMs: 0 } })
  await failureOf(agent.chat())
  expect(server.ledger.signatures).toHaveLength(1)
})

test('a payee that was not paid before is a question, and an offer to another one is not paid', async () => {
  const other = option({ payTo: '0x2222222222222222222222222222222222222222' })
  const { server, agent } = await setUp({ offer: other })
  const question = await questionOf(agent.chat())
  expect(question).toMatchObject({ kind: 'payee', payTo: other.payTo, amountMicroUsd: 5_000_000n })
  expect(server.ledger.signatures).toEqual([])
  await agent.host.answer(question.approvalId, { kind: 'approve', approved: true })
  await agent.chat()
  expect(server.ledger.signatures).toHaveLength(1)
})

test('an offer on another chain is refused', async () => {
  const { server, agent } = await setUp({ offer: option({ network: 'eip155:1' }) })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 0n })
  expect(server.ledger.signatures).toEqual([])
})

test('a redirect to another host carries neither sign-in nor payment there', async () => {
  const other = await littleServer((_, response) => answerJson(response, 200, {}))
  closing.push(other.close)
  const redirect = (path: string) => async (seen: { path: string }, response: import('node:http').ServerResponse) => {
    if (!seen.path.endsWith(path)) return false
    response.writeHead(307, { location: `${other.baseUrl}${path}` }).end()
    return true
  }
  for (const path of ['/chat/completions', '/x402/top-up']) {
    const { agent } = await setUp({ instead: redirect(path) })
    await failureOf(agent.chat())
  }
  expect(other.seen).toEqual([])
})

test('a lost answer to a payment: the same bytes again, one signature, one credit', async () => {
  const { server, agent } = await setUp({ payments: ['lose after', 'credit'] })
  await agent.chat()
  expect(server.ledger.signatures).toHaveLength(2)
  expect(new Set(server.ledger.signatures).size).toBe(1)
  expect(server.ledger.credit).toBeCloseTo(4.999)
})

test('a refused payment is reported, and no other one is signed', async () => {
  const { server, agent } = await setUp({ payments: ['reject'] })
  // The call was not made; what is reserved is told beside it.
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 0n, happened: expect.stringContaining('reserved') })
  await failureOf(agent.chat())
  expect(new Set(server.ledger.signatures).size).toBe(1)
})

test('an API key is never topped up, and says who can', async () => {
  const { server, agent } = await setUp({}, { apiKey: canaryApiKey })
  expect(await failureOf(agent.chat())).toMatchObject({ charged: 0n, next: expect.stringContaining('add credit') })
  expect(server.countOf('/x402/top-up')).toBe(0)
})

test('with nothing that pays, paid calls name the command and nothing is sent', async () => {
  const { server, agent } = await setUp({}, { walletKey: undefined })
  expect((await failureOf(agent.chat())).next).toContain('farebox wallet create')
  expect(server.seen).toEqual([])
})
