import { expect, test } from 'vitest'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { consent, payee, spend } from '../mcp/approval-requests.ts'
import { usd } from '../mcp/fake-host.ts'

const failure = { happened: 'It failed.', charged: usd(0.25), retryAtMs: 1, next: 'Wait.' }

test.each([
  [new ToolFailure(failure), { facts: { ...failure, charged: '250000' } }],
  [new ToolFailure({ ...failure, charged: 'unknown' }), { facts: { ...failure, charged: 'unknown' } }],
  [new ApprovalRequired(spend), { request: { ...spend, amountMicroUsd: '2500000' } }],
  [new ApprovalRequired({ ...spend, amountMicroUsd: null }), { request: { ...spend, amountMicroUsd: null } }],
  [new ApprovalRequired(payee), { request: { ...payee, amountMicroUsd: '5000000' } }],
  [new ApprovalRequired(consent), { request: consent }],
])('%s goes into JSON, amounts as texts', (error, members) => {
  const { name, message } = error
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: { name, message, ...members } })
})
