import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeKeys } from '#contract/limits.ts'
import { ApiKey, ChangedKey, CreatedKey } from '#contract/operations/keys.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { AccountFixture, OpenProcesses, Owner, Processes } from './account-fixture.ts'

const day = 24 * 60 * 60 * 1000
const minute = 60_000

const routes: [method: string, path: string, body?: object][] = [
  ['GET', '/api_keys'],
  ['POST', '/api_keys', { apiKeyType: 'ADMIN', description: '' }],
  ['PATCH', '/api_keys', { id: 'x' }],
  ['DELETE', '/api_keys?id=x'],
  ['GET', '/api_keys/x'],
]

const wrongMembers = [
  ['64 characters', 'description', { description: 'x'.repeat(65) }],
  ['no limit below zero', 'usd', { consumptionLimit: { usd: -1 } }],
  ['no limit below a micro-USD', 'usd', { consumptionLimit: { usd: 0.000_000_1 } }],
  ['no limit above the published one', 'diem', { consumptionLimit: { diem: 10_000_000_000 } }],
  ['one limit of staking credit', 'vcu', { consumptionLimit: { diem: 1, vcu: 2 } }],
  ['a period of the three', 'EPOCH, MONTH, LIFETIME', { limitPeriod: 'WEEK' }],
  ['an existing date', 'expiresAt', { expiresAt: '2027-02-31' }],
  ['a date and nothing else', 'expiresAt', { expiresAt: 'tomorrow' }],
  ['an end in the future', 'expiresAt', { expiresAt: '2026-01-01' }],
  ['D9: no misspelled period', 'did you mean consumptionLimit or limitPeriod?', { consumptionLimitPeriod: 'LIFETIME' }],
  ['no misspelled limit', 'did you mean consumptionLimit or limitPeriod?', { consumptionLimits: { usd: 1 } }],
  ['no limit in another unit', 'Allowed members: usd, diem, vcu', { consumptionLimit: { USD: 1 } }],
] as const

/** What holds for keys on either store. */
export function keyRules(open: OpenProcesses): void {
  let processes: Processes
  let fixture: AccountFixture
  let second: AccountFixture
  beforeAll(async () => {
    processes = await open()
    fixture = processes.first
    second = processes.second
  }, 60_000)
  afterAll(() => processes.close())

  const created = async (owner: Owner, more: object = {}) => {
    fixture.clock.pass(minute)
    const body = { apiKeyType: 'INFERENCE', description: 'made', ...more }
    const answer = await fixture.request('POST', '/api_keys', { key: owner.admin, body })
    expect(answer.status).toBe(200)
    return CreatedKey.parse(await answer.json()).data
  }
  const shown = async (owner: Owner, id: string) => {
    const answer = await fixture.request('GET', `/api_keys/${id}`, { key: owner.admin })
    return ApiKey.parse(((await answer.json()) as { data: unknown }).data)
  }
  const change = async (owner: Owner, body: object) => {
    const answer = await fixture.request('PATCH', '/api_keys', { key: owner.admin, body })
    expect(answer.status).toBe(200)
    const { success, data } = (await answer.json()) as { success: boolean; data: unknown }
    expect(success).toBe(true)
    return ChangedKey.parse(data)
  }

  test('a key is made, shown once, listed newest first, and works', async () => {
    const owner = await fixture.owner()
    const limits = { consumptionLimit: { usd: 2.5, diem: null }, limitPeriod: 'MONTH' }
    const made = await created(owner, { ...limits, expiresAt: '2027-01-31' })
    expect(made).toMatchObject({
      apiKeyType: 'INFERENCE',
      description: 'made',
      consumptionLimit: { usd: 2.5, diem: null },
      limitPeriod: 'MONTH',
      expiresAt: '2027-01-31T00:00:00.000Z',
    })
    expect((await fixture.chat(made.apiKey)).status).toBe(200)
    const listed = await (await fixture.request('GET', '/api_keys', { key: owner.admin })).text()
    expect(listed).not.toContain(made.apiKey)
    const { object, data } = JSON.parse(listed) as { object: string; data: ApiKey[] }
    expect([object, data.map(({ description }) => description)]).toEqual(['list', ['made', 'the admin', 'the first']])
    expect(data[0]).toEqual(await shown(owner, made.id))
    expect(data[0]).toMatchObject({
      last6Chars: made.apiKey.slice(-6),
      createdAt: new Date(fixture.clock.now()).toISOString(),
      lastUsedAt: new Date(fixture.clock.now()).toISOString(),
      usage: { trailingSevenDays: { usd: '0.000320', diem: '0.000000', vcu: '0.000000' } },
      currentPeriodUsage: { usd: '0.000320', diem: '0.000000' },
    })
    expect(data[1]).toMatchObject({ apiKeyType: 'ADMIN', lastUsedAt: null })
    expect(data[1]).not.toHaveProperty('currentPeriodUsage')
    fixture.clock.pass(8 * day)
    expect((await shown(owner, made.id)).usage?.trailingSevenDays.usd).toBe('0.000000')
  })

  test('an ADMIN key that was made over the API makes keys itself', async () => {
    const owner = await fixture.owner()
    const admin = await created(owner, { apiKeyType: 'ADMIN' })
    await created({ ...owner, admin: admin.apiKey })
  })

  test.each(routes)('%s %s wants an ADMIN key', async (method, path, body) => {
    const { key } = await fixture.owner()
    const call = body ? { body } : {}
    const inference = await fixture.request(method, path, { key, ...call })
    expect([inference.status, await inference.json()]).toEqual([401, { error: 'Admin API key required' }])
    const nobody = await fixture.request(method, path, call)
    expect([nobody.status, await nobody.json()]).toEqual([401, { error: 'Authentication failed' }])
  })

  test.each<[rule: string, method: string, path: string, status: number, names: string, body?: unknown]>([
    ['a type is needed', 'POST', '/api_keys', 400, 'apiKeyType', { description: '' }],
    ['a description is needed', 'POST', '/api_keys', 400, 'description', { apiKeyType: 'ADMIN' }],
    ['a type of the two', 'POST', '/api_keys', 400, 'INFERENCE, ADMIN', { apiKeyType: 'ROOT', description: '' }],
    ...wrongMembers.map(
      ([rule, names, body]) =>
        [rule, 'POST', '/api_keys', 400, names, { apiKeyType: 'ADMIN', description: '', ...body }] as [
          ...[string, string, string, number, string, unknown],
        ],
    ),
    ['JSON', 'POST', '/api_keys', 400, 'JSON', '{'],
    ['an id', 'DELETE', '/api_keys', 400, 'id'],
    ['an id', 'PATCH', '/api_keys', 400, 'id', { description: '' }],
    ['no misspelled end', 'PATCH', '/api_keys', 400, 'did you mean expiresAt?', { id: 'x', expires_at: '' }],
    ['a key that there is', 'PATCH', '/api_keys', 404, 'no such API key', { id: 'x' }],
    ['a key that there is', 'DELETE', '/api_keys?id=x', 404, 'no such API key'],
    ['a key that there is', 'GET', '/api_keys/x', 404, 'no such API key'],
  ])('%s: %s %s is a %i', async (_rule, method, path, status, names, body) => {
    const owner = await fixture.owner()
    const answer = await fixture.request(method, path, { key: owner.admin, body })
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(names)])
    expect(await fixture.chats.service.service.keys.kept(owner.account)).toHaveLength(2)
  })

  test("D3: another account's key is never seen, changed or ended", async () => {
    const [owner, stranger] = [await fixture.owner(), await fixture.owner()]
    const call = { key: stranger.admin }
    const answers = [
      await fixture.request('GET', `/api_keys/${owner.keyId}`, call),
      await fixture.request('PATCH', '/api_keys', { ...call, body: { id: owner.keyId, description: 'mine' } }),
      await fixture.request('DELETE', `/api_keys?id=${owner.keyId}`, call),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
    const list = await (await fixture.request('GET', '/api_keys', call)).text()
    expect(list).not.toContain(owner.keyId)
    expect((await fixture.chat(owner.key)).status).toBe(200)
    expect((await shown(owner, owner.keyId)).description).toBe('the first')
  })

  test('what a change leaves out stays, and null takes a limit away', async () => {
    const owner = await fixture.owner()
    const { id, apiKey } = await created(owner, { consumptionLimit: { usd: 0, diem: 3 }, limitPeriod: 'LIFETIME' })
    expect((await fixture.chat(apiKey)).status).toBe(402)
    const described = await change(owner, { id, description: 'told' })
    expect(described).toMatchObject({ description: 'told', consumptionLimits: { usd: 0, diem: 3 } })
    const raised = await change(owner, { id, consumptionLimit: { usd: 0.001 } })
    expect(raised).toMatchObject({ consumptionLimits: { usd: 0.001, diem: 3 }, limitPeriod: 'LIFETIME' })
    expect((await fixture.chat(apiKey)).status).toBe(200)
    expect((await fixture.chat(apiKey)).status).toBe(200)
    expect((await fixture.chat(apiKey)).status).toBe(402)
    const open = await change(owner, { id, consumptionLimit: { usd: null, vcu: null } })
    expect(open).toMatchObject({ description: 'told', consumptionLimits: { usd: null, diem: null } })
    expect((await fixture.chat(apiKey)).status).toBe(200)
  })

  test('a period without a limit stays where something else is changed', async () => {
    const owner = await fixture.owner()
    const { id } = await created(owner, { limitPeriod: 'MONTH' })
    expect(await change(owner, { id, description: 'told' })).toMatchObject({ limitPeriod: 'MONTH' })
    expect(await change(owner, { id, expiresAt: '' })).toMatchObject({ limitPeriod: 'MONTH' })
  })

  test('changes that come at once in two processes all stay', async () => {
    const owner = await fixture.owner()
    const { id } = await created(owner, { limitPeriod: 'EPOCH' })
    const changes = [{ consumptionLimit: { usd: 1 } }, { consumptionLimit: { diem: 2 } }, { limitPeriod: 'MONTH' }]
    const answers = await Promise.all(
      [...changes, { description: 'told' }].map((body, index) =>
        (index % 2 ? second : fixture).request('PATCH', '/api_keys', { key: owner.admin, body: { id, ...body } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await shown(owner, id)).toMatchObject({
      description: 'told',
      limitPeriod: 'MONTH',
      consumptionLimits: { usd: 1, diem: 2 },
    })
  })

  test('a key ends with its time, counts no more, and can be given a longer one', async () => {
    const owner = await fixture.owner()
    const expiresAt = new Date(fixture.clock.now() + day).toISOString()
    const { id, apiKey } = await created(owner, { expiresAt })
    fixture.clock.pass(day)
    expect((await fixture.chat(apiKey)).status).toBe(401)
    expect((await change(owner, { id, expiresAt: '' })).expiresAt).toBeNull()
    expect((await fixture.chat(apiKey)).status).toBe(200)
    expect((await change(owner, { id, description: 'still' })).expiresAt).toBeNull()
  })

  describe('D3: a key that is deleted', () => {
    test('is charged no more by any process, and is in no list', async () => {
      const owner = await fixture.owner()
      const { id, apiKey } = await created(owner)
      expect((await second.chat(apiKey)).status).toBe(200)
      const answer = await fixture.request('DELETE', `/api_keys?id=${id}`, { key: owner.admin })
      expect([answer.status, await answer.json()]).toEqual([200, { success: true }])
      expect([(await fixture.chat(apiKey)).status, (await second.chat(apiKey)).status]).toEqual([401, 401])
      fixture.clock.pass(1_000)
      expect((await second.request('GET', '/api_keys/rate_limits', { key: apiKey })).status).toBe(401)
      expect(await (await fixture.request('GET', '/api_keys', { key: owner.admin })).text()).not.toContain(id)
      expect((await fixture.request('GET', `/api_keys/${id}`, { key: owner.admin })).status).toBe(404)
    })

    test('may be the one that asks', async () => {
      const owner = await fixture.owner()
      const { id, apiKey: key } = await created(owner, { apiKeyType: 'ADMIN' })
      expect((await fixture.request('DELETE', `/api_keys?id=${id}`, { key })).status).toBe(200)
      expect((await fixture.request('GET', '/api_keys', { key })).status).toBe(401)
    })
  })
}

/** How many keys there may be, and how fast. */
export function keyCountRules(open: OpenProcesses): void {
  let processes: Processes
  let fixture: AccountFixture
  let second: AccountFixture
  beforeAll(async () => {
    processes = await open()
    fixture = processes.first
    second = processes.second
  }, 60_000)
  afterAll(() => processes.close())

  test('twenty keys a minute', async () => {
    fixture.clock.pass(minute)
    const { admin: key } = await fixture.owner()
    const make = () => fixture.request('POST', '/api_keys', { key, body: { apiKeyType: 'ADMIN', description: '' } })
    for (let made = 0; made < 20; made++) expect((await make()).status).toBe(200)
    const refused = await make()
    expect([refused.status, await refused.json()]).toEqual([429, { error: 'Rate limit exceeded' }])
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('20')
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    fixture.clock.pass(minute)
    expect((await make()).status).toBe(200)
  })

  test(`an account has ${activeKeys} keys that count at most, whichever process makes them`, async () => {
    fixture.clock.pass(minute)
    const { account, admin: key } = await fixture.owner()
    const atMs = fixture.clock.now()
    // Two are there; these make 499, and two more that do not count.
    const keys = Array.from({ length: activeKeys - 1 }, (_, index): Op => {
      const id = uuidV7(atMs)
      const expiresAtMs = index < 2 ? atMs : null
      return { op: 'key', key: id, account, hash: `hash of ${id}`, prefix: '', label: '', expiresAtMs, atMs }
    })
    while (keys.length > 0) {
      const [outcome] = await fixture.chats.service.store.commit([{ id: uuidV7(atMs), ops: keys.splice(0, 60) }])
      expect(outcome?.ok).toBe(true)
    }
    const call = { key, body: { apiKeyType: 'INFERENCE', description: '' } }
    const answers = await Promise.all([
      fixture.request('POST', '/api_keys', call),
      second.request('POST', '/api_keys', call),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400])
    const refused = answers.find(({ status }) => status === 400)
    expect(await refused?.json()).toEqual({ error: expect.stringContaining('at most 500 active keys') })
  })
}
