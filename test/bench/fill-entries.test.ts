import { expect, onTestFinished, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { fillEntries } from '../../bench/kit/fill-ledger.ts'
import { account, capture, grant, hold, mustCommit } from '../ledger/store/sample-ops.ts'
import { temporaryFolder } from '../ledger/store/sqlite-folder.ts'

test('a generated ledger adds up, and a service continues from it', async () => {
  const { path, remove } = temporaryFolder()
  onTestFinished(remove)
  const people = ['ada', 'bob', 'eve']
  const first = await openSqliteStore({ path })
  for (const id of people) await mustCommit(first, account(id), grant(10n ** 9n, `grant ${id}`, id))
  await first.close()
  fillEntries(path, people, 1_001)
  const store = await openSqliteStore({ path })
  await mustCommit(store, hold('next', 9n), capture('next', [5n]))
  await store.close()
  expect(await audit(path)).toMatchObject({ findings: [], counts: { charges: 1_003, entries: 1_006, openHolds: 0 } })
})
