/** The rows of transfers to the owner, wherever the journal is kept. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { journalMark } from '#wallet/records/journal-of-key.ts'
import type { Records } from '#wallet/records/records.ts'
import * as rows from '#wallet/records/transfer-rows.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { attacker, payTo } from '../sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore, type TestStore } from '../test-store.ts'

describe('in a file', () => transfersContract(fileStore))
withPostgres('in PostgreSQL', cluster => transfersContract(postgresStore(cluster)))

const planned = (id: string) => ({
  ...{ id, address: attacker, network: evmNetwork, asset: usdcOnEvm, payTo, settler: 'local chain', by: 'ada' },
  amountMicroUsd: microUsd(5_250_000n),
})
const signed = (nonce: string) => ({ payload: 'signed', nonce, validBeforeMs: 1_795_000_000_000 })

function transfersContract(openStore: OpenTestStore): void {
  let store: TestStore
  let records: Records
  beforeEach(async () => {
    store = await openStore()
    records = store.open()
  })
  afterEach(() => store.dispose())

  const plan = (id: string) => records.decide(nowMs => rows.planTransfer(planned(id), nowMs))
  const sign = (id: string) => records.decide(nowMs => rows.transferSigned(id, signed(`0x${id}`), nowMs))
  const send = (id: string) => records.decide(nowMs => rows.transferSent(id, 'https://facilitator.example/', nowMs))
  const stateOf = async (id: string) => (await records.read(() => rows.transferOf(id))).state
  const ruleOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ rule }) => rule)

  test('a transfer goes from plan to end, and keeps what was signed until then', async () => {
    await plan('a')
    await sign('a')
    await send('a')
    expect(await records.read(() => rows.transferPayload('a'))).toBe('signed')
    await records.decide(nowMs => rows.transferUnknown('a', 'no answer', nowMs))
    await send('a')
    await records.decide(nowMs => rows.transferConfirmed('a', '0xabc', nowMs))
    expect(await records.read(() => rows.listTransfers(9))).toMatchObject([
      {
        ...planned('a'),
        settler: 'https://facilitator.example/',
        state: 'confirmed',
        transaction: '0xabc',
        reason: null,
      },
    ])
    expect(await ruleOf(records.read(() => rows.transferPayload('a')))).toBe('state')
  })

  test('those without an end are listed oldest first, all newest first', async () => {
    for (const id of ['a', 'b', 'c']) {
      await plan(id)
      await store.advance(1_000)
    }
    await sign('b')
    await records.decide(nowMs => rows.transferDead('a', 'never signed', nowMs))
    const ids = async (work: () => ReturnType<typeof rows.listTransfers>) =>
      (await records.read(work)).map(({ id }) => id)
    expect(await ids(() => rows.openTransfers([attacker]))).toEqual(['b', 'c'])
    expect(await ids(() => rows.openTransfers([payTo]))).toEqual([])
    expect(await ids(() => rows.listTransfers(2))).toEqual(['c', 'b'])
  })

  test('a step out of order changes nothing, and an end stays', async () => {
    await plan('a')
    expect(await ruleOf(send('a'))).toBe('state')
    await sign('a')
    expect(await ruleOf(sign('a'))).toBe('state')
    await records.decide(nowMs => rows.transferConfirmed('a', null, nowMs))
    await records.decide(nowMs => rows.transferUnknown('a', 'late', nowMs))
    expect([await stateOf('a'), await ruleOf(send('a'))]).toEqual(['confirmed', 'state'])
  })

  test('one nonce has one row', async () => {
    await plan('a')
    await plan('b')
    await sign('a')
    await expect(records.decide(nowMs => rows.transferSigned('b', signed('0xa'), nowMs))).rejects.toThrow()
    expect(await stateOf('b')).toBe('planned')
  })

  test('its steps count in the mark of the journal, so an older copy is seen', async () => {
    const before = await records.read(journalMark)
    await plan('a')
    await sign('a')
    const after = await records.read(journalMark)
    expect(after).toEqual({ ...before, steps: before.steps + 2 })
  })
}
