import { expect, test } from 'vitest'
import { type ApprovalFacts, questionInShort } from '#wallet/terms/needs-approval.ts'
import { payTo, usd } from './sample-wallet.ts'

const spend = { kind: 'spend', what: 'A video of 5s by m.', amountMicroUsd: usd(2), because: 'It costs more.' } as const
const payee = {
  kind: 'payee',
  origin: 'https://x.example',
  network: 'n',
  asset: 'a',
  payTo,
  amountMicroUsd: usd(5),
} as const
const consent = {
  kind: 'consent',
  provider: 'demo',
  policyVersion: 'v1',
  policyText: 'x',
  docsUrl: 'y',
  faceMediaRoles: [],
} as const

test.each<[ApprovalFacts, string]>([
  [spend, 'A video of 5s by m for 2.00 USD'],
  [{ ...spend, amountMicroUsd: null }, 'A video of 5s by m, at a price that is not known beforehand'],
  [payee, `5.00 USD to an address that was not paid before, ${payTo}`],
  [consent, 'the policy of demo, version v1'],
  [
    { ...consent, policyVersion: `v1\u001b[2J\n${'x'.repeat(200)}` },
    `the policy of demo, version v1 [2J ${'x'.repeat(73)}`,
  ],
  [
    { ...spend, what: `A chat with ${'m'.repeat(80)} “as many words as there are…” at x.example` },
    `A chat with ${'m'.repeat(80)} “as many words as there are…” at x.example for 2.00 USD`,
  ],
])('a question in short: $1', (facts, said) => {
  expect(questionInShort(facts)).toBe(said)
})
