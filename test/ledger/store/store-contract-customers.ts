/** What operators write about customers, and what a suspension stops on every store. */
import { describe, expect, test } from 'vitest'
import {
  account,
  act,
  capture,
  checkpoint,
  commitOps,
  customer,
  extend,
  grant,
  hold,
  job,
  key,
  lease,
  mustCommit,
  nowMs,
  operator,
  refund,
  release,
  renew,
  resume,
  revokeKey,
  suspend,
  topUp,
  unit,
} from './sample-ops.ts'
import type { OpenedStore } from './store-contract.ts'

export function customersContract(opened: () => OpenedStore): void {
  describe('customers', () => {
    const store = () => opened().store
    const found = (at = store()) =>
      at.read.selectFrom('account').select(['posted', 'held', 'suspended_at_ms', 'suspended_reason']).execute()

    test('what has begun may end while an account is suspended, money may come back, and it works again', async () => {
      await mustCommit(store(), account(), grant(9n), hold('h', 5n), hold('i', 2n), key('k'))
      await mustCommit(store(), job('j', null, 'queued', 0), suspend())
      await mustCommit(store(), capture('h', [3n], 'r'), release('i'), refund('r'), grant(1n), topUp(2n, 'p'))
      await mustCommit(store(), job('j', 'queued', 'running', 1), job('j', 'running', 'failed', 2), revokeKey('k'))
      const reason = { suspended_at_ms: nowMs, suspended_reason: 'a test' }
      expect(await found()).toEqual([{ posted: 12n, held: 0n, ...reason }])
      await mustCommit(store(), resume(), hold('m', 1n), extend('m', 1n), renew('m'))
      expect(await found()).toEqual([{ posted: 12n, held: 2n, suspended_at_ms: null, suspended_reason: null }])
    })

    test('a suspension holds for units of the same batch, of both kinds, and so does its end', async () => {
      await mustCommit(store(), account(), account('bob'), grant(9n), grant(9n, 'bobs', 'bob'), hold('h', 1n))
      const whys = (
        await store().commit([
          unit(hold('before', 1n)),
          unit(suspend()),
          unit(hold('after', 1n)),
          unit(extend('h', 1n)),
          unit(checkpoint('h', [1n])),
          unit(hold('bobs', 1n, 'bob')),
          unit(hold('both', 1n, 'bob'), hold('ada too', 1n)),
          unit(resume()),
          unit(hold('again', 1n)),
        ])
      ).map(outcome => (outcome.ok ? null : `${outcome.op} ${outcome.why}`))
      const [first, other] = ['0 suspended', '1 suspended']
      expect(whys).toEqual([null, null, first, first, first, null, other, null, null])
    })

    test('a suspension holds after the store was opened again, and one that is repeated keeps its first date', async () => {
      await mustCommit(store(), account(), grant(9n), suspend('ada', nowMs))
      await mustCommit(store(), suspend('ada', nowMs + 5))
      const again = await opened().reopen()
      expect(await commitOps(again, hold('h', 1n))).toMatchObject({ ok: false, why: 'suspended' })
      expect(await found(again)).toMatchObject([{ suspended_at_ms: nowMs }])
    })

    test('a unit that is refused after its suspension leaves the account active', async () => {
      await mustCommit(store(), account(), grant(9n))
      expect(await commitOps(store(), suspend(), hold('h', 1n))).toMatchObject({ ok: false, op: 1, why: 'suspended' })
      expect(await commitOps(store(), hold('h', 1n))).toMatchObject({ ok: true })
    })

    test('a dead hold of a suspended account is still recovered', async () => {
      await mustCommit(store(), account(), grant(9n), hold('h', 5n, 'ada', lease(nowMs)), suspend())
      await mustCommit(store(), release('h', nowMs))
      expect(await found()).toMatchObject([{ held: 0n }])
    })

    test('details of a customer change one by one, and null clears them', async () => {
      await mustCommit(store(), account(), customer({ name: 'Ada', email: 'ada@example.org', plan: 'partner' }))
      await mustCommit(store(), customer({ email: null, note: 'pays late' }))
      expect(await store().read.selectFrom('customer').selectAll().execute()).toEqual([
        { account: 'ada', name: 'Ada', email: null, note: 'pays late', plan: 'partner', changed_at_ms: nowMs },
      ])
    })

    test('acts are kept in their order and can be neither changed nor deleted', async () => {
      await mustCommit(store(), account(), suspend(), act())
      await mustCommit(store(), resume(), act('customer.resume'), act('secret.rotate', null))
      const acts = store().read.selectFrom('operator_act').select(['act', 'account', 'actor', 'reason', 'after_change'])
      const [first, ...others] = await acts.orderBy('seq').execute()
      const after = '{"state":"suspended"}'
      expect(first).toEqual({
        ...{ act: 'customer.suspend', account: 'ada', actor: 'a test', reason: 'a test', after_change: after },
      })
      expect(others.map(({ act, account }) => [act, account])).toEqual([
        ['customer.resume', 'ada'],
        ['secret.rotate', null],
      ])
      const change = async (sql: string) => opened().tamper(sql)
      await expect(change("UPDATE operator_act SET actor = 'nobody'")).rejects.toThrow('append-only')
      await expect(change('DELETE FROM operator_act')).rejects.toThrow('append-only')
    })

    test('of two that change an operator as they saw it, one does', async () => {
      await mustCommit(store(), operator('ada', 0), operator('bob', 0, 'read'))
      const moved = { ok: false, why: 'operator_moved' }
      expect(await commitOps(store(), operator('ada', 0))).toMatchObject(moved)
      expect(await commitOps(store(), operator('nobody', 1))).toMatchObject(moved)
      const outcomes = await store().commit(['support', 'read'].map(role => unit(operator('bob', 1, role))))
      expect(outcomes).toMatchObject([{ ok: true }, moved])
      await mustCommit(store(), operator('bob', 2, null))
      expect(await commitOps(store(), operator('bob', 2, null))).toMatchObject(moved)
      expect(await store().read.selectFrom('operator').selectAll().execute()).toEqual([
        {
          ...{ name: 'ada', role: 'owner', epoch: 'epoch of ada', proofs: '{"passkeys":[]}', fence: 1 },
          ...{ created_at_ms: nowMs, changed_at_ms: nowMs },
        },
      ])
    })

    test('the last owner neither goes nor becomes less, also where two owners remove each other', async () => {
      await mustCommit(store(), operator('ada', 0), operator('bob', 0))
      const outcomes = await store().commit([unit(operator('ada', 1, null)), unit(operator('bob', 1, null))])
      expect(outcomes).toMatchObject([{ ok: true }, { ok: false, why: 'last_owner' }])
      expect(await commitOps(store(), operator('bob', 1, 'support'))).toMatchObject({ ok: false, why: 'last_owner' })
      await mustCommit(store(), operator('bob', 1), operator('ada', 0), operator('bob', 2, 'support'))
    })

    test('an act that is refused with its unit leaves no row', async () => {
      await mustCommit(store(), account())
      expect(await commitOps(store(), act(), suspend('nobody'))).toMatchObject({ ok: false, op: 1, why: 'no_account' })
      expect(await store().read.selectFrom('operator_act').selectAll().execute()).toEqual([])
    })
  })
}
