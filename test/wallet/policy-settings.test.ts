import { expect, test } from 'vitest'
import { policyOf } from '#agent/settings/wallet-settings.ts'
import { readPolicy } from '#wallet/rules/policy.ts'

test('a setting that a policy does not have is told, because a misspelled cap would hold nothing', () => {
  const misspelled = { serviceUrl: 'https://s.example', maxPaymntUsd: '2' }
  expect(() => readPolicy(misspelled)).toThrow(/maxPaymntUsd is not a setting/)
  expect(() => readPolicy(misspelled)).toThrow(
    expect.objectContaining({ nextStep: expect.stringContaining('maxPaymentUsd') }),
  )
})

test('an amount that is none is told by the name under which it was set', () => {
  expect(() => policyOf({ FAREBOX_MAX_DAY_USD: 'much' })).toThrow('FAREBOX_MAX_DAY_USD is not an amount in USD.')
  expect(() => readPolicy({ serviceUrl: 'https://s.example', maxDayUsd: 'much' })).toThrow('maxDayUsd is not an amount')
})
