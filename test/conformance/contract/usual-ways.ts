import { bodyBytes } from '#contract/limits.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { type Stand, unreachableLedger } from './contract-service.ts'
import type { Asked, Recipe } from './recipe.ts'

interface Common {
  status: number
  built: Operation
  /** What would succeed. */
  asked: () => Promise<Asked>
  send: (asked: Asked) => Promise<Response>
  stand: Stand
  failsBy: Recipe['failsBy']
}

/** One more than may fail before a caller is blocked. */
const blockingFailures = 21

/** How any operation comes to a status; undefined where that is its own affair. */
export function usualWay(common: Common): (() => Promise<Response>) | undefined {
  const { status, built, asked, send, stand } = common
  switch (status) {
    case 400:
      return built.request.body ? async () => send({ ...(await asked()), body: '{' }) : undefined
    case 401:
      return async () => send({ ...(await asked()), ...wrongCredential(built) })
    case 402:
      return built.auth.includes('wallet') ? async () => send({ ...(await asked()), as: 'nobody' }) : undefined
    case 413:
      return async () => send({ ...(await asked()), headers: { 'content-length': `${bodyBytes.video * 4}` } })
    case 415:
      return async () => {
        const { headers, body, ...rest } = await asked()
        return send({ ...rest, body: 'x', headers: { ...headers, 'content-type': 'image/gif' } })
      }
    case 429:
      return () => blocked(common)
    case 500:
      return () => failed(common)
    case 503:
      return async () => {
        const call = await asked()
        stand.away = unreachableLedger()
        return send(call)
      }
    default:
      return undefined
  }
}

const wrongCredential = ({ auth }: Operation): Asked =>
  auth.includes('apiKey')
    ? { as: 'nobody', headers: { authorization: 'Bearer of-nobody' } }
    : { as: 'nobody', headers: { 'sign-in-with-x': 'e30=' } }

/** The block answers every operation alike, and sooner than any limit. */
async function blocked({ built, asked, send, stand }: Common): Promise<Response> {
  const call = await asked()
  const as =
    built.auth.length === 0
      ? ('nobody' as const)
      : built.auth.includes('apiKey')
        ? ('key' as const)
        : ('wallet' as const)
  for (let failures = 0; failures < blockingFailures; failures++) {
    const response = await stand.ask('POST', as === 'nobody' ? '/nowhere' : '/chat/completions', { as, body: '{' })
    await response.arrayBuffer()
  }
  return send({ ...call, as })
}

async function failed({ asked, send, stand, failsBy }: Common): Promise<Response> {
  const call = await asked()
  const body = failsBy === 'books' ? null : call.body
  if (typeof body === 'object' && body !== null && 'model' in body) {
    return send({ ...call, body: { ...body, model: `failing-${body.model}` } })
  }
  if (body instanceof FormData && body.has('model')) {
    const form = new FormData()
    for (const [name, value] of body) form.append(name, name === 'model' ? `failing-${value}` : value)
    return send({ ...call, body: form })
  }
  stand.away = new Error('Something that nobody foresaw.')
  return send(call)
}
