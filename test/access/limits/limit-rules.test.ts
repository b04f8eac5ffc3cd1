import { expect, test } from 'vitest'
import { type LimitedRequest, limitDimensions } from '#access/limits/limit-rules.ts'
import type { LimitName, PlanName, TextTier } from '#contract/limits.ts'
import type { Principal } from '#ledger/accounts/principal.ts'

const keyCaller = (plan: PlanName = 'default'): Principal => ({ kind: 'key', account: 'ada', keyId: 'k1', plan })
const walletCaller: Principal = { kind: 'wallet', account: 'bob', wallet: '0xb0b', plan: 'default', isNew: false }

const request = (changes: Partial<LimitedRequest> = {}): LimitedRequest => ({
  limit: 'read',
  model: null,
  tier: null,
  principal: keyCaller(),
  address: '192.0.2.1',
  ...changes,
})

type Row = [rule: string, plan: PlanName, limit: LimitName, tier: TextTier | null, requests: number, tokens?: number]
const rows: Row[] = [
  ['§8.1', 'default', 'text', 'XS', 500, 1_000_000],
  ['§8.1', 'default', 'text', 'S', 75, 750_000],
  ['§8.1', 'default', 'text', 'M', 50, 750_000],
  ['§8.1', 'default', 'text', 'L', 20, 500_000],
  ['§8.2', 'default', 'image', null, 20],
  ['§8.2', 'default', 'audio', null, 60],
  ['§8.2', 'default', 'embedding', null, 500],
  ['§8.2', 'default', 'video.queue', null, 40],
  ['§8.2', 'default', 'video.retrieve', null, 120],
  ['§8.3', 'partner', 'text', 'XS', 500, 2_000_000],
  ['§8.3', 'partner', 'text', 'S', 150, 1_500_000],
  ['§8.3', 'partner', 'text', 'M', 100, 1_500_000],
  ['§8.3', 'partner', 'text', 'L', 60, 1_000_000],
  ['§8.3', 'partner', 'image', null, 60],
  ['§8.3', 'partner', 'audio', null, 120],
  ['§8.3', 'partner', 'embedding', null, 500],
  ['top-up', 'default', 'top-up', null, 10],
  ['balance', 'default', 'wallet.balance', null, 30],
  ['transactions', 'default', 'wallet.transactions', null, 20],
]

test.each(rows)('%s: %s %s %s', (_rule, plan, limit, tier, requestsPerMinute, tokensPerMinute) => {
  const [dimension] = limitDimensions(request({ limit, tier, principal: keyCaller(plan) }))
  expect(dimension).toMatchObject({ type: 'user', requestsPerMinute })
  expect(dimension?.tokensPerMinute).toBe(tokensPerMinute)
})

const keysOf = (changes: Partial<LimitedRequest>) => limitDimensions(request(changes)).map(({ key }) => key)

test('S5: keys of one account share its count', () => {
  const other: Principal = { ...keyCaller(), kind: 'key', keyId: 'k2' }
  expect(keysOf({ principal: other })).toEqual(keysOf({}))
})

test('models, operations, accounts and addresses are counted apart', () => {
  const keys = [
    keysOf({ limit: 'text', model: 'a' }),
    keysOf({ limit: 'text', model: 'b' }),
    keysOf({ limit: 'read' }),
    keysOf({ principal: walletCaller }),
    keysOf({ principal: null }),
    keysOf({ principal: null, address: '192.0.2.2' }),
  ]
  expect(new Set(keys.flat()).size).toBe(keys.length)
})

test('S12: wallets without an account share the count of their address, and none of an account', () => {
  const fresh = (wallet: string): Principal => ({
    ...walletCaller,
    kind: 'wallet',
    account: wallet,
    wallet,
    isNew: true,
  })
  expect(keysOf({ principal: fresh('0x1') })).toEqual(keysOf({ principal: null }))
  expect(keysOf({ principal: fresh('0x1') })).toEqual(keysOf({ principal: fresh('0x2') }))
  const elsewhere = { principal: fresh('0x1'), address: '192.0.2.2' }
  expect(keysOf(elsewhere)).not.toEqual(keysOf({ principal: fresh('0x1') }))
})

test('keys and everybody together are counted where the operator says so', () => {
  const extra = { apiKey: { read: { requestsPerMinute: 5 } }, global: { read: { requestsPerMinute: 9_000 } } }
  expect(limitDimensions(request(), extra).map(({ type }) => type)).toEqual(['user', 'api_key', 'global'])
  expect(limitDimensions(request({ principal: walletCaller }), extra).map(({ type }) => type)).toEqual([
    'user',
    'global',
  ])
  expect(limitDimensions(request({ limit: 'image' }), extra).map(({ type }) => type)).toEqual(['user'])
})
