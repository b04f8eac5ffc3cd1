import { expect, test } from 'vitest'
import { missing } from '#agent/calls/pay-after-402.ts'
import { insufficientBalance, walletCreditRequired } from '#contract/errors/errors.ts'
import { microUsd } from '#contract/money.ts'

const usd = (amount: number) => microUsd(Math.round(amount * 1e6))

const said = (members: { minimumBalanceUsd?: number; currentBalanceUsd?: number }) =>
  walletCreditRequired({
    error: 'Payment required',
    code: 'PAYMENT_REQUIRED',
    reason: 'insufficient_balance',
    suggestedTopUpUsd: 10,
    minimumTopUpUsd: 5,
    supportedTokens: ['USDC'],
    supportedChains: ['base'],
    topUpInstructions: {
      step1: '',
      step2: '',
      step3: '',
      receiverWallet: '',
      tokenAddress: '',
      tokenDecimals: 6,
      network: '',
      minimumAmountUsd: 5,
    },
    siwxChallenge: {
      info: { domain: '', uri: '', version: '1', nonce: '', issuedAt: '', expirationTime: '', statement: '' },
      supportedChains: [],
    },
    ...members,
  })

const rows: [rule: string, error: ReturnType<typeof said>, price: number | null, missingUsd: number][] = [
  ['what the call needs less what is there', said({ minimumBalanceUsd: 3, currentBalanceUsd: 1 }), 4, 2],
  ['our price bounds what a service claims to need', said({ minimumBalanceUsd: 99, currentBalanceUsd: 0 }), 0.01, 0.01],
  ['without a price of ours, the smallest top-up does', said({ minimumBalanceUsd: 99 }), null, 5],
  ['a balance below zero is not counted as a debt', said({ minimumBalanceUsd: 1, currentBalanceUsd: -95 }), 2, 1],
  ['the suggested amount is never taken', said({}), 0.5, 0.000001],
  ['a 402 that says nothing is answered by our price', insufficientBalance(), 7, 7],
]

test.each(rows)('%s', (_rule, error, price, missingUsd) => {
  expect(missing(error, price === null ? null : usd(price))).toBe(usd(missingUsd))
})
