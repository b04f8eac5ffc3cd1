import { expect, test } from 'vitest'
import { readSettings } from '#agent/settings/settings.ts'
import { policyOf } from '#agent/settings/wallet-settings.ts'
import { microUsd } from '#contract/money.ts'
import { readPolicy, tighten } from '#wallet/rules/policy.ts'

const usd = (amount: number) => microUsd(amount * 1_000_000)
const rows: [settings: { below?: string; by?: string; most?: string }, said: RegExp | null][] = [
  [{}, null],
  [{ below: '0', by: '5' }, null],
  [{ below: '1', by: '5' }, null],
  [{ below: '100', by: '8', most: '8' }, null],
  [{ below: '1' }, /FAREBOX_REFILL_BELOW_USD and FAREBOX_REFILL_BY_USD go together, and only one of them is set\./],
  [{ by: '5' }, /FAREBOX_REFILL_BELOW_USD and FAREBOX_REFILL_BY_USD go together/],
  [
    { below: '1', by: '4.999999' },
    /FAREBOX_REFILL_BY_USD is less than the smallest top-up\. Set it to 5\.00 USD or more\./,
  ],
  [
    { below: '1', by: '5.01' },
    /FAREBOX_REFILL_BY_USD is more than FAREBOX_MAX_PAYMENT_USD allows, which is 5\.00 USD\./,
  ],
  [{ below: '1', by: '5', most: '4' }, /FAREBOX_REFILL_BY_USD is more than FAREBOX_MAX_PAYMENT_USD allows/],
  [{ below: '-1', by: '5' }, /FAREBOX_REFILL_BELOW_USD (is `-1`, which )?is not an amount in USD/],
  [{ below: '1', by: 'much' }, /FAREBOX_REFILL_BY_USD (is `much`, which )?is not an amount in USD/],
]

test.each(rows)('%j', ({ below, by, most }, said) => {
  const names = { FAREBOX_REFILL_BELOW_USD: below, FAREBOX_REFILL_BY_USD: by, FAREBOX_MAX_PAYMENT_USD: most }
  const { problems } = readSettings(names)
  const policy = () =>
    readPolicy({ serviceUrl: 'https://s.example', refillBelowUsd: below, refillByUsd: by, maxPaymentUsd: most })
  if (said) {
    expect(problems).toEqual([expect.stringMatching(said)])
    expect(policy).toThrow(/refill(By|Below)Usd/)
    expect(() => policyOf(names)).toThrow(said)
    return
  }
  expect(problems).toEqual([])
  const refill = below === undefined ? null : { belowMicroUsd: usd(Number(below)), byMicroUsd: usd(Number(by)) }
  expect(policy().refill).toEqual(refill)
  expect(policyOf(names).refill).toEqual(refill)
})

test('a misspelled setting is reported', () => {
  const { problems } = readSettings({ FAREBOX_REFILL_BELOW: '1' })
  expect(problems).toEqual(['FAREBOX_REFILL_BELOW is not a setting. Did you mean FAREBOX_REFILL_BELOW_USD?'])
})

test('the settings file can switch it off and not on', () => {
  const on = readPolicy({ serviceUrl: 'https://s.example', refillBelowUsd: '1', refillByUsd: '5' })
  const off = readPolicy({ serviceUrl: 'https://s.example' })
  expect(tighten(on, { refill: null }).refill).toBe(null)
  expect(tighten(on, {}).refill).toEqual(on.refill)
  expect(tighten(off, { refill: on.refill }).refill).toBe(null)
})
