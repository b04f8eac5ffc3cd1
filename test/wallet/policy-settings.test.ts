import { expect, test } from 'vitest'
import { readPolicy } from '#wallet/rules/policy.ts'

test('a setting that a policy does not have is told, because a misspelt cap would hold nothing', () => {
  const misspelt = { serviceUrl: 'https://s.example', maxPaymntUsd: '2' }
  expect(() => readPolicy(misspelt)).toThrow(/maxPaymntUsd is no setting/)
  expect(() => readPolicy(misspelt)).toThrow(
    expect.objectContaining({ nextStep: expect.stringContaining('maxPaymentUsd') }),
  )
})
