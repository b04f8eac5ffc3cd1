import { expect, test } from 'vitest'
import { NeedsPerson } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { usd } from '../mcp/fake-host.ts'
import { consent, payee, spend } from '../mcp/questions.ts'

const failure = { happened: 'It failed.', charged: usd(0.25), retryAtMs: 1, next: 'Wait.' }

test.each([
  [new ToolFailure(failure), { facts: { ...failure, charged: '250000' } }],
  [new ToolFailure({ ...failure, charged: 'unknown' }), { facts: { ...failure, charged: 'unknown' } }],
  [new NeedsPerson(spend), { question: { ...spend, amountMicroUsd: '2500000' } }],
  [new NeedsPerson({ ...spend, amountMicroUsd: null }), { question: { ...spend, amountMicroUsd: null } }],
  [new NeedsPerson(payee), { question: { ...payee, amountMicroUsd: '5000000' } }],
  [new NeedsPerson(consent), { question: consent }],
])('%s goes into JSON, amounts as texts', (error, members) => {
  const { name, message } = error
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: { name, message, ...members } })
})
