import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiKeys } from '#access/keys/api-keys.ts'
import type { Store } from '#ledger/store/store.ts'
import { account, unit } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { ManualClock, noonMs } from '../limits/manual-clock.ts'
import { withSlowReads } from './slow-reads.ts'

const serverSecret = Buffer.alloc(32, 1)
const formerSecret = Buffer.alloc(32, 2)

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
let store: Store
let clock: ManualClock
let keys: ApiKeys

beforeEach(async () => {
  opened = await openTemporaryStore()
  store = opened.store
  clock = new ManualClock(noonMs)
  keys = new ApiKeys({ store, clock, serverSecrets: [serverSecret] })
  await store.commit([unit(account('ada'), account('bob'))])
})

afterEach(() => opened.dispose())

const create = (changes: Partial<Parameters<ApiKeys['create']>[0]> = {}) =>
  keys.create({ account: 'ada', label: 'laptop', expiresAtMs: null, ...changes })

describe('§5.1 a key', () => {
  test('is 256 random bits behind a mark that people recognize, and finds its account', async () => {
    const key = await create()
    expect(key.secret).toMatch(/^fb_[\w-]{43}$/)
    expect(key.prefix).toBe(key.secret.slice(0, 9))
    expect(await keys.find(key.secret)).toMatchObject({ id: key.id, account: 'ada', expiresAtMs: null })
    expect((await create()).secret).not.toBe(key.secret)
  })

  test('A9: its secret is in no file of the store, and not in what lists show', async () => {
    const { secret } = await create()
    const folder = dirname(opened.path)
    for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name)).includes(secret)).toBe(false)
    expect(JSON.stringify(await keys.list('ada'))).not.toContain(secret)
  })

  test('A9: a copy of the database is useless under another server secret', async () => {
    const { secret } = await create()
    const elsewhere = new ApiKeys({ store, clock, serverSecrets: [formerSecret] })
    expect(await elsewhere.find(secret)).toBeNull()
  })

  test('counts on after the server secret was rotated', async () => {
    const { secret, id } = await create()
    const rotated = new ApiKeys({ store, clock, serverSecrets: [formerSecret, serverSecret] })
    expect(await rotated.find(secret)).toMatchObject({ id, needs: 'former' })
  })

  test('ends with the secret that it needs', async () => {
    const { secret } = await create()
    const dropped = new ApiKeys({ store, clock, serverSecrets: [formerSecret] })
    expect(await dropped.find(secret)).toBeNull()
    expect(await dropped.list('ada')).toMatchObject([{ needs: 'missing' }])
  })

  test('ends at its expiry, to the millisecond, also when it was just used', async () => {
    const { secret } = await create({ expiresAtMs: noonMs + 500 })
    clock.advance(499)
    expect(await keys.find(secret)).not.toBeNull()
    clock.advance(1)
    expect(await keys.find(secret)).toBeNull()
  })

  test('ends at once when it is revoked', async () => {
    const { secret, id } = await create()
    expect(await keys.find(secret)).not.toBeNull()
    await keys.revoke(id)
    expect(await keys.find(secret)).toBeNull()
  })

  test('A9: ends within a second when another process revokes it', async () => {
    const { secret, id } = await create()
    await keys.find(secret)
    await new ApiKeys({ store, clock, serverSecrets: [serverSecret] }).revoke(id)
    clock.advance(1_000)
    expect(await keys.find(secret)).toBeNull()
  })

  test('A9: ends then even if the clock is set back by an hour', async () => {
    const { secret, id } = await create()
    await keys.find(secret)
    await new ApiKeys({ store, clock, serverSecrets: [serverSecret] }).revoke(id)
    clock.advance(-3_600_000)
    expect(await keys.find(secret)).toBeNull()
  })

  test('is not remembered by a look-up that a revocation overtook', async () => {
    const { secret, id } = await create()
    const slow = new ApiKeys({
      store: withSlowReads(store, () => slow.revoke(id)),
      clock,
      serverSecrets: [serverSecret],
    })
    await slow.find(secret)
    expect(await slow.find(secret)).toBeNull()
  })
})

test('lists are of one account, newest first, and keep revoked keys', async () => {
  const first = await create({ label: 'x'.repeat(100) })
  clock.advance(1)
  const second = await create()
  await create({ account: 'bob' })
  await keys.revoke(first.id)
  expect(await keys.list('ada')).toEqual([
    expect.objectContaining({ id: second.id, label: 'laptop', revokedAtMs: null }),
    expect.objectContaining({ id: first.id, label: 'x'.repeat(64), revokedAtMs: noonMs + 1 }),
  ])
})

test('a label is cut to what can be stored, also within a character', async () => {
  const { id } = await create({ label: `${'x'.repeat(63)}🐚` })
  expect(await keys.list('ada')).toEqual([expect.objectContaining({ id, label: `${'x'.repeat(63)}\ufffd` })])
})

test('a list without an account shows all keys, and which secret each one needs', async () => {
  await create()
  await keys.revoke((await create({ account: 'bob' })).id)
  const rotated = new ApiKeys({ store, clock, serverSecrets: [formerSecret, serverSecret] })
  await rotated.create({ account: 'bob', label: '', expiresAtMs: null })
  await rotated.create({ account: 'bob', label: '', expiresAtMs: clock.now() })
  expect((await rotated.list()).map(({ account, needs }) => [account, needs])).toEqual([
    ['bob', 'current'],
    ['bob', 'current'],
    ['bob', 'former'],
    ['ada', 'former'],
  ])
  expect(await rotated.needs()).toEqual({ current: 1, former: 1, missing: 0 })
})

test('an account must exist, and so must a key that is revoked', async () => {
  await expect(create({ account: 'eve' })).rejects.toMatchObject({ why: 'no_account' })
  await expect(keys.revoke('no such key')).rejects.toMatchObject({ why: 'no_key' })
})

test('no other text finds a key', async () => {
  const { secret } = await create()
  const near = fc.nat(secret.length - 1).map(at => {
    const other = secret[at] === 'x' ? 'y' : 'x'
    return secret.slice(0, at) + other + secret.slice(at + 1)
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), near, fc.constant(`${secret} `)), async text => {
      expect(await keys.find(text)).toBeNull()
    }),
  )
})
