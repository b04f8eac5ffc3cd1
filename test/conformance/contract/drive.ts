import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import type { Stand } from './contract-service.ts'
import { faultsOf, type PublishedAnswer, type PublishedOperation } from './published-contract.ts'
import type { Asked, Recipe } from './recipe.ts'
import { usualWay } from './usual-ways.ts'

/** The result of one published operation. */
export interface Driven {
  id: string
  method: string
  path: string
  state: 'fits' | 'fails' | 'no recipe' | 'missing'
  reached: number[]
  unreachable: Record<number, string>
  /** What is not as published, a line a fault. */
  faults: string[]
}

/** The operation of ours that answers a published one. */
export const builtOperation = ({ method, path }: PublishedOperation): Operation | undefined =>
  (operations as readonly Operation[]).find(
    each => each.method === method && [each.path, each.aliasPath].includes(path),
  )

/** A minute and a half: every block and every window is over. */
const restMs = 90_000

export async function drive(published: PublishedOperation, recipe: Recipe | undefined, stand: Stand): Promise<Driven> {
  const { id, method, path, answers } = published
  const driven: Driven = { id, method, path, state: 'fits', reached: [], unreachable: {}, faults: [] }
  const built = builtOperation(published)
  if (!built || !recipe) return { ...driven, state: built ? 'no recipe' : 'missing' }
  for (const status of Object.keys(answers).map(Number)) {
    stand.opened.clock.pass(restMs)
    const why = recipe.unreachable?.[status] ?? unreachableBy(built, status)
    if (why !== undefined) driven.unreachable[status] = why
    else await reach({ status, published, built, recipe, stand, driven })
  }
  return { ...driven, state: driven.faults.length ? 'fails' : 'fits' }
}

interface Reaching {
  status: number
  published: PublishedOperation
  built: Operation
  recipe: Recipe
  stand: Stand
  driven: Driven
}

/** What follows from the operation itself. */
function unreachableBy({ auth, request }: Operation, status: number): string | undefined {
  if (status === 401 && auth.length === 0) return 'anybody may call it'
  if (status === 415 && !request.body) return 'it takes no body'
  return undefined
}

async function reach(reaching: Reaching): Promise<void> {
  const { status, published, recipe, stand, driven } = reaching
  const ways = await waysTo(reaching)
  if (ways.length === 0) driven.faults.push(`${status}: there is no way to it, and no reason why not`)
  for (const way of ways) {
    const response = await way()
    if (response.status !== status) {
      driven.faults.push(`${status}: was ${response.status} ${(await response.text()).slice(0, 300)}`)
      continue
    }
    const faults = await faultsOfResponse(published.answers[status] ?? {}, response)
    const meant = (fault: string) => recipe.tolerated?.some(([pattern]) => pattern.test(fault))
    driven.faults.push(...faults.filter(fault => !meant(fault)).map(fault => `${status}: ${fault}`))
    if (!driven.reached.includes(status)) driven.reached.push(status)
  }
  stand.away = null
}

async function waysTo({ status, published, built, recipe, stand }: Reaching): Promise<(() => Promise<Response>)[]> {
  const { method, path } = published
  const given = async (each: Recipe['succeeds'][number]): Promise<Asked> =>
    typeof each === 'function' ? await each(stand) : each
  const send = (asked: Asked) => stand.ask(method, path, asked)
  if (status === 200) return recipe.succeeds.map(each => async () => send(await given(each)))
  const own = recipe.reaches?.[status]
  if (own && typeof own === 'object' && 'answer' in own) return [() => own.answer(stand)]
  if (own) return [async () => send(await given(own))]
  const [first] = recipe.succeeds
  if (first === undefined) return []
  const usual = usualWay({ status, built, asked: () => given(first), send, stand, failsBy: recipe.failsBy })
  return usual ? [usual] : []
}

async function faultsOfResponse(answer: PublishedAnswer, response: Response): Promise<string[]> {
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  const unsaid = (answer.headers ?? []).filter(name => !optionalHeaders.has(name) && !response.headers.has(name))
  const faults = unsaid.map(name => `header ${name} is not there`)
  if (type === 'application/json' && (answer.json || answer.shapes)) {
    return [...faults, ...faultsOf(answer, await response.json())]
  }
  const bytes = await response.arrayBuffer()
  if (!answer.otherTypes?.includes(type)) return [...faults, `content type ${type || 'none'} is not published`]
  return bytes.byteLength ? faults : [...faults, 'there are no bytes']
}

/** Headers that belong to some of the callers or models alone. */
const optionalHeaders: ReadonlySet<string> = new Set([
  'x-balance-remaining',
  'idempotent-replayed',
  'payment-required',
  'x-service-model-deprecation-warning',
  'x-service-model-deprecation-date',
  'x-service-deprecated',
  'x-service-deprecated-replacement',
  'x-service-is-blurred',
  'x-service-is-content-violation',
  'x-service-is-adult-model-content-violation',
  'x-service-contains-minor',
  'x-service-model-id',
  'x-service-model-name',
  'content-encoding',
  'content-disposition',
])
