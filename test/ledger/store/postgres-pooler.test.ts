/** PgBouncer between a store and its database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { type Cluster, freePort, query, serverUser } from '../../postgres/cluster.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { account, commitOps, grant, mustCommit } from './sample-ops.ts'

/** Starts a pooler, and returns the address of its database. */
async function pooled(cluster: Cluster, mode: 'session' | 'transaction'): Promise<string> {
  const port = await freePort()
  const folder = temporaryFolder('pooler')
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${cluster.port} user=farebox
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`,
  )
  const user = serverUser()
  if (user) for (const path of [folder, file]) chownSync(path, user.uid, user.gid)
  const child = spawn('pgbouncer', ['--quiet', file], { stdio: 'ignore', ...user })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  const url = cluster.urlOf('farebox', 'farebox', port)
  while (!(await query(url, 'SELECT 1').catch(() => null))) await sleep(20)
  return url
}

withPostgres('a pooler', cluster => {
  describe('PgBouncer', { tags: ['pgbouncer'] }, () => {
    test('in session mode takes a store as the database does', async () => {
      const store = await openPostgresStore({ url: await pooled(cluster(), 'session'), schema: cluster().newSchema() })
      await mustCommit(store, account(), grant(5n))
      expect(await store.read.selectFrom('account').select('posted').execute()).toEqual([{ posted: 5n }])
      await store.close()
    })

    test('in transaction mode is refused before it makes a table, and blocks no other start', async () => {
      const schema = cluster().newSchema()
      await expect(openPostgresStore({ url: await pooled(cluster(), 'transaction'), schema })).rejects.toMatchObject({
        kind: 'unusable_database',
        message: expect.stringContaining('use its session mode, or connect to the server directly'),
      })
      const store = await openPostgresStore({ url: cluster().url, schema })
      expect(await commitOps(store, account())).toMatchObject({ ok: true })
      await store.close()
    })
  })
})
