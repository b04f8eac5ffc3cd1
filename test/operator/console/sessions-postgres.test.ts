import { expect, test } from 'vitest'
import { Marks } from '#access/identity/marks.ts'
import { OperatorSessions } from '#operator/sign-in/operator-sessions.ts'
import { Tries } from '#operator/sign-in/tries.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { TestClock } from '../../service/open-service.ts'

withPostgres('sessions of the console on PostgreSQL', cluster => {
  test('O1: two processes know one session, and one link lets one browser in', async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    try {
      const clock = new TestClock(Date.now())
      const [one, other] = [new OperatorSessions({ store, clock }), new OperatorSessions({ store, clock })]
      const token = await one.newLink({ role: 'support', by: 'ada' })
      const begun = await Promise.all([one.spend(token), other.spend(token)])
      const [session] = begun.filter(each => each !== null)
      expect(begun.filter(each => each === null)).toHaveLength(1)
      if (!session) throw new Error('No browser got in.')
      expect(await other.find(session)).toMatchObject({ role: 'support', by: 'ada' })
      expect(await one.find({ ...session, key: 'x' })).toBeNull()
      expect(await one.endAll()).toBe(1)
      expect(await other.find(session)).toBeNull()
    } finally {
      await dispose()
    }
  }, 60_000)

  test('O16: two processes count the tries of one address together', async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    try {
      const clock = new TestClock(Date.now())
      const tries = () => new Tries({ clock, marks: new Marks({ store, clock }) })
      const begun = []
      for (let each = 0; each < 6; each++) begun.push(await tries().begin({ of: 'address ::1' }))
      expect(begun.map(each => typeof each)).toEqual([...Array.from({ length: 5 }, () => 'object'), 'number'])
      clock.pass(2_000)
      const right = await tries().begin({ of: 'address ::1' })
      if (typeof right === 'number') throw new Error('The wait is over.')
      await right.right()
      expect(typeof (await tries().begin({ of: 'address ::1' }))).toBe('object')
    } finally {
      await dispose()
    }
  }, 60_000)
})
