import { createKey } from '#access/keys/api-keys.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { type OpenedService, type OpenServiceOptions, openService } from '../service/open-service.ts'

export const serviceUrl = 'http://127.0.0.1:8402'

export interface SignedIn {
  cookie: string
  key: string
}

/** As the page itself sends it in a browser. */
export const fromItself = { 'sec-fetch-site': 'same-origin', origin: serviceUrl }

export type OpenedAccount = Awaited<ReturnType<typeof openAccount>>

interface KeyOptions {
  /** Of another key's customer; a new one where absent. */
  account?: string
  role?: KeyRole
  usd?: bigint
  label?: string
  budget?: KeyBudget
}

/** A service with its customers' page, without a socket. */
export async function openAccount(options: OpenServiceOptions = {}, url = serviceUrl) {
  const service: OpenedService = await openService(options)
  const { store, clock } = service
  const own = { 'sec-fetch-site': 'same-origin', origin: url }
  /** As it comes from a proxy that tells the caller's address. */
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (!headers.has('host')) headers.set('host', new URL(url).host)
    if (typeof init.body === 'string') headers.set('content-length', `${Buffer.byteLength(init.body)}`)
    return service.service.app.request(`${url}${path}`, { ...init, headers })
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = own) =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  const headersOf = ({ cookie, key }: SignedIn) => ({ ...own, cookie, [pageKeyHeader]: key })
  const spend = (key: unknown, headers?: Record<string, string>) => post('/account/api/session', { key }, headers)
  return {
    ...{ service, ask, post, spend, headersOf },
    /** A key, with its account. */
    newKey: ({ account, role = 'ADMIN', usd = 5_000_000n, label = '', budget }: KeyOptions = {}) =>
      createKey(
        { keys: service.service.keys, now: () => clock.now() },
        {
          ...{ amountMicroUsd: account === undefined ? usd : 0n, label, role },
          ...(account === undefined ? {} : { account }),
          ...(budget ? { budget } : {}),
        },
      ),
    async signIn(key: string): Promise<SignedIn> {
      const response = await spend(key)
      const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
      return { cookie, key: ((await response.json()) as { key: string }).key }
    },
    get: (path: string, session: SignedIn) => ask(path, { headers: headersOf(session) }),
    act: (name: string, body: unknown, session: SignedIn) => post(`/account/api/${name}`, body, headersOf(session)),
    store,
    close: () => service.close(),
  }
}
