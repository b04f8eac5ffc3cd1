import { afterEach, beforeEach, expect, test } from 'vitest'
import { Receipts } from '#contract/operations/receipts.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { openSchemaStore } from '../postgres/postgres-store.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { answerMicroUsd, closeAll, type KeyFixture, openKeyFixture } from './http/idempotency/key-fixture.ts'

withPostgres('receipts of two processes on PostgreSQL', cluster => {
  let first: KeyFixture
  let second: KeyFixture
  let bearer: string
  beforeEach(async () => {
    const { store, schema, url } = await openSchemaStore(cluster())
    first = await openKeyFixture({ store, soleOwner: false })
    const clock = first.opened.clock
    second = await openKeyFixture({ store: await openPostgresStore({ url, schema }), soleOwner: false, clock })
    bearer = await first.opened.key(10)
  })
  afterEach(() => closeAll([first, second]))

  const read = async (fixture: KeyFixture, path: string) =>
    (await fixture.opened.request(`/api/v1/farebox${path}`, { headers: { authorization: `Bearer ${bearer}` } })).json()

  test('are the same from either process, whichever charged, and so are the keys', async () => {
    const headers = { 'x-farebox-want-receipt': 'true' }
    const answers = [await first.ask(bearer, { headers }), await second.ask(bearer, { headers })]
    const receipts = answers.map(answer => answer.headers.get('x-farebox-receipt'))
    const listed = Receipts.parse(await read(first, '/receipts'))
    expect(listed.data.map(({ receipt }) => receipt)).toEqual(receipts.toReversed())
    expect(await read(second, '/receipts')).toEqual(listed)
    const page = Receipts.parse(await read(second, '/receipts?limit=1'))
    expect(await read(second, `/receipts?limit=1&before=${page.next}`)).toMatchObject({
      data: [{ receipt: receipts[0] }],
    })
    const claims = JSON.parse(Buffer.from(receipts[0]?.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ amount_micro_usd: `${answerMicroUsd}`, lines: [{ units: '5' }, { units: '3' }] })
    const keys = await read(first, '/receipt_keys')
    expect(keys).toMatchObject({ keys: [{ kty: 'OKP' }] })
    expect(await read(second, '/receipt_keys')).toEqual(keys)
  })
})
