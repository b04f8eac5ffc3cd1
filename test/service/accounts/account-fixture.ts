import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Cluster } from '../../postgres/cluster.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { type ChatFixture, openFixture } from '../chat-fixture.ts'
import { used, words } from '../chat-script.ts'
import { ProcessStore } from '../http/idempotency/key-fixture.ts'
import { adminToken, TestClock } from '../open-service.ts'

export interface AccountCall {
  key?: string
  body?: unknown
  headers?: Record<string, string>
}

export interface Owner {
  account: string
  /** An ADMIN key. */
  admin: string
  /** An INFERENCE key. */
  key: string
  keyId: string
}

/** One process of a service, whose chats cost 320 micro-USD each: 20 tokens at 1 and 30 at 10. */
export class AccountFixture {
  readonly chats: ChatFixture
  readonly clock: TestClock

  constructor(chats: ChatFixture, clock: TestClock) {
    this.chats = chats
    this.clock = clock
  }

  request(method: string, path: string, { key, body, headers = {} }: AccountCall = {}): Promise<Response> {
    return this.chats.service.request(`/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

  /** A new customer with both kinds of key. */
  async owner(usd = 1): Promise<Owner> {
    const made = await this.order({ usd: `${usd}`, label: 'the first' })
    const { key: admin } = await this.order({ usd: '0', label: 'the admin', account: made.account, role: 'ADMIN' })
    return { account: made.account, admin, key: made.key, keyId: made.keyId }
  }

  async order(body: object): Promise<{ key: string; keyId: string; account: string }> {
    const answer = await this.operator('keys', body)
    if (answer.status !== 200) throw new Error(await answer.text())
    return (await answer.json()) as { key: string; keyId: string; account: string }
  }

  /** A command of the operator. */
  operator(command: string, body: object): Promise<Response> {
    const headers = { authorization: `Bearer ${adminToken}` }
    return this.chats.service.request(`/admin/v1/${command}`, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  chat(key: string): Promise<Response> {
    return this.chats.chat({ key, account: '' }, { max_tokens: 30 })
  }
}

interface FixtureOptions {
  clock?: TestClock
  stakes?: StakeReader
  store?: Store
  /** Closed with the fixture. */
  own?: readonly Store[]
}

async function openOne({ clock = new TestClock(), stakes, store, own = [] }: FixtureOptions): Promise<AccountFixture> {
  const chats = await openFixture({
    clock,
    ...(stakes ? { stakes } : {}),
    ...(store ? { storeBefore: mine => new ProcessStore(store, { soleOwner: false, own: [...own, mine] }) } : {}),
  })
  chats.engine.play([...words('one', ' two'), { usage: used(20, 30) }])
  return new AccountFixture(chats, clock)
}

/** Two processes on the same ledger, and how both are closed. */
export interface Processes {
  first: AccountFixture
  second: AccountFixture
  close(): Promise<void>
}

export type OpenProcesses = (options?: Pick<FixtureOptions, 'clock' | 'stakes'>) => Promise<Processes>

const closing = (first: AccountFixture, second: AccountFixture) => async () => {
  for (const fixture of [second, first]) await fixture.chats.service.close()
}

/** Two of one SQLite folder stand for two processes: its store is one process's own, what is tested here is above it. */
export const openOnSqlite: OpenProcesses = async options => {
  const first = await openOne({ ...options })
  const second = await openOne({ ...options, clock: first.clock, store: first.chats.service.store })
  return { first, second, close: closing(first, second) }
}

export const openOnPostgres =
  (cluster: () => Cluster): OpenProcesses =>
  async options => {
    const { store, schema, url } = await openSchemaStore(cluster())
    const other = await openPostgresStore({ url, schema })
    const first = await openOne({ ...options, store, own: [store] })
    const second = await openOne({ ...options, clock: first.clock, store: other, own: [other] })
    return { first, second, close: closing(first, second) }
  }
