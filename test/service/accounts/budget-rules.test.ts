import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountDesk, openOnSqlite, type Processes } from './account-desk.ts'

/** A key with a budget makes nothing more spendable than that budget. */

let processes: Processes
let desk: AccountDesk
beforeAll(async () => {
  processes = await openOnSqlite()
  desk = processes.first
})
afterAll(() => processes.close())

interface Admin {
  key: string
  keyId: string
  account: string
}

/** An ADMIN key with a budget, of an account with 10 USD. */
async function admin(budget: object = { period: 'month', usd: '5' }): Promise<Admin> {
  desk.clock.pass(60_000)
  const { account } = await desk.order({ usd: '10', label: 'owner' })
  return { ...(await desk.order({ usd: '0', label: 'admin', account, role: 'ADMIN', budget })), account }
}

const change = (by: Admin, body: object) => desk.request('PATCH', '/api_keys', { key: by.key, body })
const create = (by: Admin, more: object) => {
  const body = { apiKeyType: 'INFERENCE', description: 'made', ...more }
  return desk.request('POST', '/api_keys', { key: by.key, body })
}
const limitsOf = async (by: Admin, id = by.keyId) => {
  const answer = await desk.request('GET', `/api_keys/${id}`, { key: by.key })
  const { data } = (await answer.json()) as { data: { consumptionLimits: { usd: number | null }; limitPeriod: string } }
  return [data.consumptionLimits.usd, data.limitPeriod]
}
const monthly = (usd: number | null) => ({ consumptionLimit: { usd }, limitPeriod: 'MONTH' })

describe('raises no budget', () => {
  test.each<[rule: string, body: object, names: string]>([
    ['a higher limit', { consumptionLimit: { usd: 5.01 } }, 'consumptionLimit'],
    ['no limit', { consumptionLimit: { usd: null } }, 'consumptionLimit'],
    ['a limit that starts anew more often', { limitPeriod: 'EPOCH' }, 'limitPeriod'],
  ])('of its own: %s', async (_rule, body, names) => {
    const by = await admin()
    const answer = await change(by, { id: by.keyId, ...body })
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([400, expect.stringContaining(names)])
    expect(await limitsOf(by)).toEqual([5, 'MONTH'])
  })

  test('nor of another key', async () => {
    const by = await admin()
    const { keyId } = await desk.order({
      usd: '0',
      label: '',
      account: by.account,
      budget: { period: 'month', usd: '1' },
    })
    expect((await change(by, { id: keyId, consumptionLimit: { usd: 2 } })).status).toBe(400)
    expect((await change(by, { id: keyId, consumptionLimit: { usd: null } })).status).toBe(400)
    expect(await limitsOf(by, keyId)).toEqual([1, 'MONTH'])
  })

  test('but lowers them, its own as well, and changes what is no budget', async () => {
    const by = await admin()
    expect((await change(by, { id: by.keyId, consumptionLimit: { usd: 4 }, limitPeriod: 'LIFETIME' })).status).toBe(200)
    expect((await change(by, { id: by.keyId, description: 'mine' })).status).toBe(200)
    expect(await limitsOf(by)).toEqual([4, 'LIFETIME'])
  })
})

describe('creates no key beyond what it has left', () => {
  test.each<[rule: string, body: object, names: string]>([
    ['without a limit', {}, 'consumptionLimit'],
    ['with no limit of the currency', monthly(null), 'consumptionLimit'],
    ['with more', monthly(5.01), 'consumptionLimit'],
    ['that starts anew more often', { consumptionLimit: { usd: 1 }, limitPeriod: 'EPOCH' }, 'limitPeriod'],
  ])('%s', async (_rule, body, names) => {
    const by = await admin()
    const answer = await create(by, body)
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([400, expect.stringContaining(names)])
    expect(await limitsOf(by)).toEqual([5, 'MONTH'])
  })

  test('what it gives is taken from its own, so that many keys spend no more than one', async () => {
    const by = await admin()
    expect((await create(by, monthly(3))).status).toBe(200)
    expect(await limitsOf(by)).toEqual([2, 'MONTH'])
    expect((await create(by, monthly(3))).status).toBe(400)
    expect((await create(by, { apiKeyType: 'ADMIN', ...monthly(2) })).status).toBe(200)
    expect((await create(by, monthly(0.000001))).status).toBe(400)
  })

  test('what it has spent is not left', async () => {
    const by = await admin({ period: 'month', usd: '0.001' })
    expect((await desk.chat(by.key)).status).toBe(200)
    expect((await create(by, monthly(0.0009))).status).toBe(400)
    expect((await create(by, monthly(0.0005))).status).toBe(200)
  })

  test('ten at once get what is there once', async () => {
    const by = await admin()
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(by, monthly(2))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, ...Array.from({ length: 8 }, () => 400)])
    expect(await limitsOf(by)).toEqual([1, 'MONTH'])
  })
})

test('an ADMIN key without a budget does as it likes', async () => {
  const owner = await desk.owner(5)
  const by = { key: owner.admin, keyId: owner.keyId, account: owner.account }
  expect((await create(by, {})).status).toBe(200)
  expect((await change(by, { id: owner.keyId, ...monthly(2) })).status).toBe(200)
  expect((await change(by, { id: owner.keyId, ...monthly(null) })).status).toBe(200)
})
