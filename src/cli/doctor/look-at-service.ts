import type { AgentSettings } from '#agent/settings/settings.ts'
import { howToHaveService } from '#agent/words/explain.ts'
import { ask, broken, type Finding, note, ok, type Told } from './finding.ts'

const check = 'service'

/** Services take sign-ins of clocks that differ by less. */
const mostSkewMs = 60_000

/** Whether the service is there, takes the API key, and has the same time. A key goes to no other address. */
export async function lookAtService({ env, apiKey }: AgentSettings): Promise<readonly Finding[]> {
  const { baseUrlOf } = await import('#agent/settings/wallet-settings.ts')
  const baseUrl = baseUrlOf(env).replace(/\/+$/, '')
  const askedAtMs = Date.now()
  const told = await ask(`${baseUrl}/models`)
  const there = whetherThere(told, baseUrl, env.FAREBOX_BASE_URL !== undefined)
  if (there.state === 'broken') return [there]
  return [there, ...clockOf(told, askedAtMs), ...(apiKey === undefined ? [] : [await keyAt(baseUrl, apiKey)])]
}

function whetherThere({ status, reason, body }: Told, baseUrl: string, isNamed: boolean): Finding {
  const why = isNamed ? '' : ', which is used because FAREBOX_BASE_URL is not set'
  if (status === 0)
    return broken(
      check,
      `Nothing answers at ${baseUrl}${why}: ${reason}.`,
      isNamed ? 'Check FAREBOX_BASE_URL, and whether the service runs.' : `${howToHaveService().replace(/^s/, 'S')}.`,
    )
  const isService = status === 200 && Array.isArray((body as { data?: unknown } | null)?.data)
  // Some list their models to callers alone, and a list may be longer than what is read of it.
  if (isService || status === 401 || status === 402 || (status === 200 && body === null))
    return ok(check, `${baseUrl} answers${isNamed ? '' : '; it is used because FAREBOX_BASE_URL is not set'}.`)
  return broken(
    check,
    `${baseUrl}${isNamed ? '' : `${why},`} answers ${status}, and not as a service does.`,
    'Check FAREBOX_BASE_URL; it ends in /api/v1.',
  )
}

function clockOf({ atMs }: Told, askedAtMs: number): Finding[] {
  if (atMs === null) return []
  const skewMs = atMs - askedAtMs
  if (Math.abs(skewMs) < mostSkewMs) return [ok('clock', 'It is that of the service.')]
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  return [
    broken(
      'clock',
      `This machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service.`,
      'Set its clock: a wallet cannot sign in with it.',
    ),
  ]
}

async function keyAt(baseUrl: string, apiKey: string): Promise<Finding> {
  const { status } = await ask(`${baseUrl}/api_keys/rate_limits`, { headers: { authorization: `Bearer ${apiKey}` } })
  if (status === 200) return ok('api key', 'The service takes it.')
  if (status === 401 || status === 403)
    return broken(
      'api key',
      `The service does not take it (${status}).`,
      'Check FAREBOX_API_KEY; it is a key of this service.',
    )
  return note('api key', `The service does not say whether it takes it (${status}).`, 'The first call tells.')
}
