import type { SettingsFile } from '#operator/console/settings-file.ts'
import type { OperatorRole } from '#pages/console/wire.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import type { SocketBindings } from '#service/http/listener.ts'
import { adminToken, type OpenedService, type OpenServiceOptions, openService } from '../../service/open-service.ts'

export const consoleUrl = 'http://127.0.0.1:8405'

export interface SignedIn {
  cookie: string
  key: string
}

/** As the console's own page sends it in a browser. */
export const fromItself = { 'sec-fetch-site': 'same-origin', origin: consoleUrl }

export type OpenedConsole = Awaited<ReturnType<typeof openConsole>>

/** A service with its console, without a socket. */
export async function openConsole(
  { settingsFile, ...options }: OpenServiceOptions & { settingsFile?: SettingsFile } = {},
  origins: [string, ...string[]] = [consoleUrl],
) {
  const service: OpenedService = await openService(options)
  const asking = () => {
    const fetch = service.service.openConsole(origins, { ...(settingsFile ? { settingsFile } : {}) })
    return async (path: string, init: RequestInit = {}, address = '127.0.0.1'): Promise<Response> => {
      const headers = new Headers(init.headers)
      if (!headers.has('host')) headers.set('host', new URL(consoleUrl).host)
      if (typeof init.body === 'string') headers.set('content-length', `${Buffer.byteLength(init.body)}`)
      const request = new Request(`${consoleUrl}${path}`, { ...init, headers })
      const headersDistinct = Object.fromEntries([...headers].map(([name, value]) => [name, [value]]))
      const incoming = { socket: { remoteAddress: address }, headersDistinct }
      return fetch(request, { incoming } as unknown as SocketBindings)
    }
  }
  const ask = asking()
  const post = (path: string, body: unknown, headers: Record<string, string> = fromItself, address?: string) =>
    ask(
      path,
      { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } },
      address,
    )
  const headersOf = ({ cookie, key }: SignedIn) => ({ ...fromItself, cookie, [pageKeyHeader]: key })
  /** The token of a link, as `farebox console` prints it. */
  const newToken = async (role: OperatorRole = 'owner'): Promise<string> => {
    const response = await service.request('/admin/v1/console/link', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}` },
      body: JSON.stringify({ role, by: 'ada' }),
    })
    const { link } = (await response.json()) as { link: string }
    return new URL(link).hash.slice(1)
  }
  const spend = (token: unknown, headers?: Record<string, string>, address?: string) =>
    post('/api/session', { token }, headers, address)
  const signIn = async (role?: OperatorRole): Promise<SignedIn> => {
    const response = await spend(await newToken(role))
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    return { cookie, key: ((await response.json()) as { key: string }).key }
  }
  return {
    ...{ service, ask, post, spend, newToken, signIn, headersOf },
    /** Asks a second console on the same ledger, as that of another process. */
    another: asking,
    /** Reads as this session. */
    get: (path: string, session: SignedIn) => ask(path, { headers: headersOf(session) }),
    act: (path: string, body: unknown, session: SignedIn) => post(path, body, headersOf(session)),
    close: () => service.close(),
  }
}
