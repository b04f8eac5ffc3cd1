import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import type { OpenedStore } from '../ledger/store/store-contract.ts'
import { type Cluster, query } from './cluster.ts'

/** Tables of tests that are over, by the server that they are on: to empty them is faster than to make them. */
const free = new WeakMap<Cluster, string[]>()

/** A store with tables of its own. */
export async function openSchemaStore(cluster: Cluster): Promise<OpenedStore & { schema: string; url: string }> {
  const { url } = cluster
  const used = free.get(cluster)?.pop()
  const schema = used ?? cluster.newSchema()
  if (used) await empty(cluster, used)
  let store = await openPostgresStore({ url, schema })
  return {
    store,
    schema,
    url,
    async reopen() {
      await store.close()
      store = await openPostgresStore({ url, schema })
      return store
    },
    // Above all privileges, so that what still refuses are the tables themselves.
    async tamper(text) {
      await query(cluster.urlOf('postgres', 'farebox'), `SET search_path = ${schema}; ${text}`)
    },
    async dispose() {
      await store.close()
      free.set(cluster, [...(free.get(cluster) ?? []), schema])
    },
  }
}

/** Only a replica's session passes the triggers, and only a superuser may be one. */
async function empty(cluster: Cluster, schema: string): Promise<void> {
  const tables = await cluster.asSuperuser(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}' AND tablename NOT LIKE 'kysely%'`,
  )
  const names = (tables as { name: string }[]).map(({ name }) => `${schema}.${name}`)
  const statements = names.map(name => `DELETE FROM ${name};`).join(' ')
  await cluster.asSuperuser(`SET session_replication_role = replica; ${statements}
    ALTER SEQUENCE ${schema}.entry_seq_seq RESTART; ALTER SEQUENCE ${schema}.limit_log_seq_seq RESTART`)
}
