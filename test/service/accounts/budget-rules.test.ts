import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeKeys } from '#contract/limits.ts'
import type { ApiKey } from '#contract/operations/keys.ts'
import { words } from '../chat-script.ts'
import { type AccountFixture, openOnSqlite, type Processes } from './account-fixture.ts'

/** A key with a budget cannot make more than that budget spendable. */

let processes: Processes
let fixture: AccountFixture
beforeAll(async () => {
  processes = await openOnSqlite()
  fixture = processes.first
})
afterAll(() => processes.close())

interface Admin {
  key: string
  keyId: string
  account: string
}

const hour = 60 * 60 * 1000

/** An ADMIN key with a budget, of an account with 10 USD. */
async function admin(budget: object = { period: 'month', usd: '5' }): Promise<Admin> {
  fixture.clock.pass(60_000)
  const { account } = await fixture.order({ usd: '10', label: 'owner' })
  return { ...(await fixture.order({ usd: '0', label: 'admin', account, role: 'ADMIN', budget })), account }
}

/** An ADMIN key of the same account without a budget. */
async function ownerOf({ account }: Admin): Promise<Admin> {
  return { ...(await fixture.order({ usd: '0', label: 'root', account, role: 'ADMIN' })), account }
}

const change = (by: Admin, body: object) => fixture.request('PATCH', '/api_keys', { key: by.key, body })
const create = (by: Admin, more: object) => {
  const body = { apiKeyType: 'INFERENCE', description: 'made', ...more }
  return fixture.request('POST', '/api_keys', { key: by.key, body })
}
const shown = async (by: Admin, id = by.keyId) => {
  const answer = await fixture.request('GET', `/api_keys/${id}`, { key: by.key })
  return ((await answer.json()) as { data: ApiKey }).data
}
const limitsOf = async (by: Admin, id = by.keyId) => {
  const { consumptionLimits, limitPeriod } = await shown(by, id)
  return [consumptionLimits.usd, limitPeriod]
}
const monthly = (usd: number | null) => ({ consumptionLimit: { usd }, limitPeriod: 'MONTH' })

describe('raises no budget', () => {
  test.each<[rule: string, body: object, names: string]>([
    ['a higher limit', { consumptionLimit: { usd: 5.01 } }, 'consumptionLimit'],
    ['no limit', { consumptionLimit: { usd: null } }, 'consumptionLimit'],
    ['a period that starts anew more often', { limitPeriod: 'EPOCH' }, 'limitPeriod'],
    ['a period that starts anew less often', { limitPeriod: 'LIFETIME' }, 'limitPeriod'],
    ['another period with a lower limit', { consumptionLimit: { usd: 1 }, limitPeriod: 'LIFETIME' }, 'limitPeriod'],
  ])('of its own: %s', async (_rule, body, names) => {
    const by = await admin()
    const answer = await change(by, { id: by.keyId, ...body })
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([400, expect.stringContaining(names)])
    expect(await limitsOf(by)).toEqual([5, 'MONTH'])
  })

  test('and no change of its period lets it spend the same budget again', async () => {
    const by = await admin({ period: 'epoch', usd: '0.0007' })
    const chats = async () => [(await fixture.chat(by.key)).status, (await fixture.chat(by.key)).status]
    expect(await chats()).toEqual([200, 402])
    for (const limitPeriod of ['MONTH', 'LIFETIME', 'EPOCH']) {
      await change(by, { id: by.keyId, limitPeriod })
      expect([limitPeriod, ...(await chats())]).toEqual([limitPeriod, 402, 402])
    }
    expect((await fixture.chats.ledger(by.account)).charged).toBe(320n)
  })

  test('but lowers its own, and changes what is no budget', async () => {
    const by = await admin()
    const same = { consumptionLimit: { usd: 4 }, limitPeriod: 'MONTH', description: 'mine' }
    expect((await change(by, { id: by.keyId, ...same })).status).toBe(200)
    expect([await limitsOf(by), (await shown(by)).description]).toEqual([[4, 'MONTH'], 'mine'])
  })
})

describe('streams in flight spend no more than the budget that they began with, where its owner meanwhile', () => {
  test.each<[rule: string, budget: object | null]>([
    ['changes the period', { period: 'month', usd: '0.1' }],
    ['changes the period with a higher limit', { period: 'lifetime', usd: '9' }],
    ['raises the limit', { period: 'epoch', usd: '9' }],
    ['takes the budget away', null],
  ])('%s', async (_rule, budget) => {
    const by = await admin({ period: 'epoch', usd: '0.1' })
    const { beats } = fixture.chats.engine
    const more = Promise.withResolvers<void>()
    // Each could spend 0.09 USD, out of the same 0.1.
    fixture.chats.engine.play([{ text: 'one' }, { until: more.promise }, ...words(...Array(9_000).fill(' more'))])
    const caller = { key: by.key, account: by.account }
    const answers = await Promise.all([1, 2, 3].map(() => fixture.chats.chat(caller, { stream: true })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await fixture.operator('keys/budget', { key: by.keyId, budget })).status).toBe(200)
    more.resolve()
    await Promise.all(answers.map(answer => answer.text()))
    fixture.chats.engine.play(beats)
    await expect.poll(() => fixture.chats.openHolds()).toBe(0)
    expect((await fixture.chats.ledger(by.account)).charged).toBeLessThanOrEqual(100_000n)
  })
})

describe('lengthens no life', () => {
  /** One that ends in an hour. */
  async function temporary(): Promise<{ by: Admin; endsAt: string }> {
    const by = await admin()
    const endsAt = new Date(fixture.clock.now() + hour).toISOString()
    expect((await change(await ownerOf(by), { id: by.keyId, expiresAt: endsAt })).status).toBe(200)
    return { by, endsAt }
  }
  const ends: [rule: string, expiresAt: (endMs: number) => string | null, isAllowed: boolean][] = [
    ['never', () => null, false],
    ['never, by its other spelling', () => '', false],
    ['later', endMs => new Date(endMs + 1_000).toISOString(), false],
    ['at the same time', endMs => new Date(endMs).toISOString(), true],
    ['sooner', endMs => new Date(endMs - 60_000).toISOString(), true],
  ]

  test.each(ends)('of its own: an end %s', async (_rule, end, isAllowed) => {
    const { by, endsAt } = await temporary()
    const answer = await change(by, { id: by.keyId, expiresAt: end(Date.parse(endsAt)) })
    expect(answer.status).toBe(isAllowed ? 200 : 400)
    if (isAllowed) return
    const refused = JSON.stringify(await answer.json())
    expect(refused).toContain('expiresAt')
    expect(refused).toContain(endsAt)
    expect((await shown(by)).expiresAt).toBe(endsAt)
  })

  test.each([...ends, ['that is left out', () => undefined, false] as const])(
    'of a key that it creates: an end %s',
    async (_rule, end, isAllowed) => {
      const { by, endsAt } = await temporary()
      const answer = await create(by, { apiKeyType: 'ADMIN', ...monthly(1), expiresAt: end(Date.parse(endsAt)) })
      expect(answer.status).toBe(isAllowed ? 200 : 400)
      expect(await limitsOf(by)).toEqual([isAllowed ? 4 : 5, 'MONTH'])
      if (isAllowed) return
      const refused = JSON.stringify(await answer.json())
      expect(refused).toContain('expiresAt')
      expect(refused).toContain(endsAt)
    },
  )

  test('one without an end gives itself one, and cannot take it back', async () => {
    const by = await admin()
    const expiresAt = new Date(fixture.clock.now() + hour).toISOString()
    expect((await change(by, { id: by.keyId, expiresAt })).status).toBe(200)
    expect((await change(by, { id: by.keyId, expiresAt: null })).status).toBe(400)
  })
})

describe('touches no key but itself', () => {
  const others: [which: string, make: (by: Admin) => Promise<string>][] = [
    ['an ADMIN key without a budget', async by => (await ownerOf(by)).keyId],
    ['a key of the operator', async ({ account }) => (await fixture.order({ usd: '0', label: '', account })).keyId],
    [
      'a key that it made',
      async by => ((await (await create(by, monthly(1))).json()) as { data: { id: string } }).data.id,
    ],
  ]
  const touches: [how: string, touch: (by: Admin, id: string) => Promise<Response>][] = [
    ['ends', (by, id) => fixture.request('DELETE', `/api_keys?id=${id}`, { key: by.key })],
    ['sets the budget of', (by, id) => change(by, { id, ...monthly(0) })],
    ['sets the end of', (by, id) => change(by, { id, expiresAt: new Date(fixture.clock.now() + hour).toISOString() })],
    ['describes', (by, id) => change(by, { id, description: 'mine' })],
  ]
  const cases = others.flatMap(([which, make]) => touches.map(([how, touch]) => ({ which, make, how, touch })))

  test.each(cases)('$how $which: 403, and nothing changes', async ({ make, touch }) => {
    const by = await admin()
    const id = await make(by)
    const before = await shown(by, id)
    const answer = await touch(by, id)
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { error: expect.stringContaining('ADMIN key without a budget') },
    ])
    expect(await shown(by, id)).toEqual(before)
  })

  test('but sees them all, and ends itself', async () => {
    const by = await admin()
    const listed = await fixture.request('GET', '/api_keys', { key: by.key })
    expect(((await listed.json()) as { data: ApiKey[] }).data.map(({ description }) => description)).toEqual([
      'admin',
      'owner',
    ])
    expect((await fixture.request('DELETE', `/api_keys?id=${by.keyId}`, { key: by.key })).status).toBe(200)
    expect((await create(by, monthly(1))).status).toBe(401)
  })

  test('a key that another process has ended a moment ago makes, changes and ends none', async () => {
    const by = await admin()
    const again = { ...by, key: by.key }
    expect((await fixture.request('GET', '/api_keys', { key: by.key })).status).toBe(200)
    const end = `/api_keys?id=${by.keyId}`
    expect((await processes.second.request('DELETE', end, { key: (await ownerOf(by)).key })).status).toBe(200)
    expect((await create(again, { apiKeyType: 'ADMIN' })).status).toBe(401)
    expect((await change(again, { id: by.keyId, description: 'mine' })).status).toBe(401)
    expect((await fixture.request('DELETE', end, { key: by.key })).status).toBe(401)
    expect(await fixture.chats.service.service.keys.kept(by.account)).toHaveLength(2)
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
    expect((await fixture.chat(by.key)).status).toBe(200)
    expect((await create(by, monthly(0.0009))).status).toBe(400)
    expect((await create(by, monthly(0.0005))).status).toBe(200)
  })

  test('ten at once get what is there once', async () => {
    const by = await admin()
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(by, monthly(2))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, ...Array.from({ length: 8 }, () => 400)])
    expect(await limitsOf(by)).toEqual([1, 'MONTH'])
  })

  test('a key that is refused takes nothing from it, whatever else is created at the same time', async () => {
    const by = await admin()
    const { keys } = fixture.chats.service.service
    for (let made = 2; made < activeKeys - 2; made++)
      await keys.create({ account: by.account, label: '', expiresAtMs: null })
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(by, monthly(0.5))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400, 400, 400, 400, 400])
    expect(await limitsOf(by)).toEqual([4, 'MONTH'])
  })
})

test('an ADMIN key without a budget does as it likes', async () => {
  const owner = await fixture.owner(5)
  const by = { key: owner.admin, keyId: owner.keyId, account: owner.account }
  expect((await create(by, {})).status).toBe(200)
  expect((await change(by, { id: owner.keyId, ...monthly(2) })).status).toBe(200)
  expect((await change(by, { id: owner.keyId, ...monthly(null) })).status).toBe(200)
})
