import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { claimLeaseMs } from '#service/http/idempotency/replayed-answer.ts'
import { openSchemaStore } from '../../../postgres/postgres-store.ts'
import { withPostgres } from '../../../postgres/with-postgres.ts'
import { type Ask, answerMicroUsd, charges, claims, closeAll, type KeyFixture, openKeyFixture } from './key-fixture.ts'

withPostgres('keys of two processes on PostgreSQL', cluster => {
  let first: KeyFixture
  let second: KeyFixture
  let bearer: string
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { store, schema, url } = await openSchemaStore(cluster())
    first = await openKeyFixture({ store, soleOwner: false })
    const clock = first.opened.clock
    second = await openKeyFixture({ store: await openPostgresStore({ url, schema }), soleOwner: false, clock })
    bearer = await first.opened.key(10)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await closeAll([first, second])
  })

  const requests: [what: string, ask: Ask][] = [
    ['a video', { path: '/video/queue' }],
    ['a whole answer', {}],
    ['a stream', { body: { stream: true } }],
  ]

  test.each(requests)('of 300 twins of %s one works, and all that are answered get its bytes', async (_what, ask) => {
    const twins = Array.from({ length: 300 }, async (_, twin) => {
      const response = await (twin % 2 ? first : second).ask(bearer, { key: 'one', ...ask })
      return { status: response.status, text: await response.text() }
    })
    const answers = await Promise.all(twins)
    const statuses = new Set(answers.map(answer => answer.status))
    expect([...statuses].filter(status => ![200, 409, 429].includes(status))).toEqual([])
    expect(new Set(answers.filter(answer => answer.status === 200).map(answer => answer.text)).size).toBe(1)
    expect(await charges(first)).toHaveLength(1)
    expect(await first.opened.store.read.selectFrom('job').select('id').execute()).toHaveLength(ask.path ? 1 : 0)
    expect(await claims(first)).toHaveLength(1)
  })

  test('the other takes up what a dead one left, once its lease has ended', async () => {
    first.store.killAt = ops => (ops.some(op => op.op === 'hold') ? 'after' : null)
    void first.ask(bearer, { key: 'one' })
    await expect.poll(() => first.store.dead).toBe(true)
    expect((await second.ask(bearer, { key: 'one' })).status).toBe(409)
    second.opened.clock.pass(claimLeaseMs + 1)
    const text = await (await second.ask(bearer, { key: 'one' })).text()
    expect(await (await second.ask(bearer, { key: 'one' })).text()).toBe(text)
    expect(await charges(second)).toEqual([answerMicroUsd])
  })
})
