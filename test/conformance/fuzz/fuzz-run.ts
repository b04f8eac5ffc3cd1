import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openStand, type Stand } from '../contract/contract-service.ts'
import { fuzzInput } from './fuzz-input.ts'

export interface FuzzOptions {
  inputs: number
  seed: number
  /** The first input; 0 where absent. */
  from?: number
  /** Also measures how long the main thread was blocked, which is only a guess on a busy machine. */
  stalls?: boolean
}

export interface Finding {
  number: number
  operation: string
  what: string
}

export interface FuzzRun {
  findings: Finding[]
  /** Answers by their status. */
  statuses: Record<string, number>
}

/** No window and no block lasts longer. */
const restMs = 61_000
/** Fewer than the failures that block a caller. */
const inputsPerRest = 10
const stallMs = 200
const answerMs = 60_000

/** Sends that many inputs to one service, and looks at each answer and at the ledger. */
export async function fuzz({ inputs, seed, from = 0, stalls = false }: FuzzOptions): Promise<FuzzRun> {
  const stand = await openStand()
  const run: FuzzRun = { findings: [], statuses: {} }
  const known = await knownOf(stand)
  try {
    for (let number = from; number < from + inputs; number++) {
      if (number % inputsPerRest === 0) stand.opened.clock.pass(restMs)
      const { operation, ...input } = fuzzInput(seed, number, known)
      const send = () => answered(stand, operation.method, input)
      const { status, faults } = stalls ? await unlessStalled(send) : await send()
      run.statuses[status] = (run.statuses[status] ?? 0) + 1
      run.findings.push(...faults.map(what => ({ number, operation: operation.id, what })))
    }
  } finally {
    await stand.close()
  }
  return run
}

interface Answered {
  status: number
  faults: string[]
}

type Input = Omit<ReturnType<typeof fuzzInput>, 'operation'>

async function answered(stand: Stand, method: string, { path, asked }: Input): Promise<Answered> {
  const { opened } = stand
  const late = AbortSignal.timeout(answerMs)
  try {
    const response = await Promise.race([stand.ask(method, path, asked), lateness(late)])
    const text = await Promise.race([response.text(), lateness(late)])
    const faults = []
    if (response.status >= 500 && !isMeant(text)) {
      const why = opened.logged.filter(({ level }) => level === 'error').at(-1)
      faults.push(`${response.status} ${text.slice(0, 200)} ${why ? String((why.facts as { err?: unknown }).err) : ''}`)
    }
    const request = response.headers.get('cf-ray')
    if (!request) faults.push(`${response.status} without a request id`)
    else if (response.status >= 400 && (await isCharged(stand, request))) faults.push(`charged for ${response.status}`)
    if (({} as Record<string, unknown>).polluted !== undefined) faults.push('a prototype is polluted')
    return { status: response.status, faults }
  } catch (error) {
    return { status: 0, faults: [`no answer: ${error}`] }
  }
}

/** Engines that are not set up, or not installed, say so; that is no fault. */
const isMeant = (text: string): boolean => /not set up/.test(text)

const lateness = (late: AbortSignal): Promise<never> =>
  new Promise((_, reject) => late.addEventListener('abort', () => reject(late.reason), { once: true }))

const isCharged = async ({ opened }: Stand, request: string): Promise<boolean> =>
  (await opened.store.read
    .selectFrom('entry')
    .select('id')
    .where('request', '=', request)
    .where('kind', '=', 'CHARGE')
    .executeTakeFirst()) !== undefined

/** What stalls three times is no accident of the machine. */
async function unlessStalled(send: () => Promise<Answered>): Promise<Answered> {
  let last: Answered = { status: 0, faults: [] }
  let shortest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3; attempt++) {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const now = await send()
    await new Promise(resolve => setImmediate(resolve))
    delay.disable()
    if (attempt === 0) last = now
    shortest = Math.min(shortest, delay.max / 1e6)
    if (shortest < stallMs) return last
  }
  return { ...last, faults: [...last.faults, `nobody else was answered for ${Math.round(shortest)} ms`] }
}

/** Values that lead further than drawn ones do. */
async function knownOf(stand: Stand): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const response = await stand.ask('GET', '/models', { query: '?type=all' })
  const { data } = (await response.json()) as { data: { id: string }[] }
  return {
    model: data.map(({ id }) => id).filter(id => !id.startsWith('failing-')),
    network: ['double'],
    method: ['eth_chainId', 'eth_call'],
    walletAddress: [stand.wallet.address],
    encoding_format: ['float', 'base64'],
  }
}
