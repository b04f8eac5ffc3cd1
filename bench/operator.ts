/** Measures every question of the operators' console on a large ledger, and what operators cost paying callers. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder } from '#cli/data/data-folder.ts'
import { findPostgres } from '../test/needs/find-program.ts'
import { Cluster } from '../test/postgres/cluster.ts'
import { type Figure, finish, type Line, median, quantile } from './kit/figures.ts'
import { fillCustomers, fillEntries } from './kit/fill-ledger.ts'
import { fillPostgresEntries } from './kit/fill-postgres.ts'
import { closedLoop, openLoop } from './kit/load.ts'
import { pinLoad, pinProcesses, residentBytesOf, serverCore } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { type Question, questionsOf } from './kit/operator-questions.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, type Prepared, prepareService, startService, withProduct } from './kit/product.ts'
import { fareboxChats, type RunningSide, withSides } from './kit/sides.ts'

const options = benchOptions()
const { customers, entries, asks, rounds, phaseMs, warmUpMs } = options.isShort
  ? { customers: 20, entries: 2_000, asks: 2, rounds: 1, phaseMs: 300, warmUpMs: 100 }
  : {
      customers: 1_000,
      entries: options.entries?.[0] ?? 1_000_000,
      asks: 50,
      rounds: 5,
      phaseMs: 6_000,
      warmUpMs: 3_000,
    }

const chatsPerSecond = 100
/** An operator who never reads a page. */
const clickEveryMs = 200
const mostAnswerMs = 300

const metrics = {
  p95: 'p95 of an answer, ms',
  p50: 'p50 of an answer, ms',
  memory: 'memory of the service, MiB',
  p99: 'p99 of a paid chat, ms',
} as const
const memories = ['before the first query', 'after each query once', 'after all queries'] as const
const [alone, beside] = ['without operators', 'while an operator clicks'] as const

pinLoad()
await withProduct(options.product, installation => finish('operator', options, () => measure(installation)))

interface AskedSide extends RunningSide {
  questions: readonly Question[]
  prepared: Prepared
}

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const upstream = await MockUpstream.start()
  const cluster = findPostgres() ? await Cluster.start() : null
  try {
    if (cluster) pinProcesses([cluster.processId], serverCore)
    const names = ['SQLite', ...(cluster ? ['PostgreSQL'] : [])]
    const figures: Figure[] = []
    // One service at a time, so that none shares its core.
    for (const name of names) {
      const database = name === 'SQLite' ? {} : { database: cluster?.url ?? '' }
      const order = { ...installation, name, upstreamPort: upstream.port, customers, ...database }
      const start = async (): Promise<AskedSide> => {
        const prepared = await filled(order)
        const side = fareboxChats(await startService(order, prepared), prepared)
        return { ...side, prepared, questions: questionsOf(prepared.accounts, entries) }
      }
      figures.push(...(await withSides([start], ([side]) => measureSide(side as AskedSide))))
    }
    return { figures, goals: names.flatMap(name => goalsOf(figures, name)) }
  } finally {
    await cluster?.stop()
    await upstream.close()
  }
}

async function filled(order: Parameters<typeof prepareService>[0]): Promise<Prepared> {
  process.stderr.write(`${order.name}: writing ${entries.toLocaleString('en')} entries.\n`)
  const prepared = await prepareService(order)
  const file = dataFolder(prepared.data).database
  await fillCustomers(order.database ?? `sqlite:${file}`, prepared.accounts)
  if (order.database) await fillPostgresEntries(order.database, prepared.accounts, entries)
  else fillEntries(file, prepared.accounts, entries)
  return prepared
}

type Ask = (question: Question, time: number) => Promise<void>

/** Signs in to the console as `farebox console` does. */
async function signIn({ data }: Prepared): Promise<Ask> {
  const { url, token } = JSON.parse(await readFile(dataFolder(data).admin, 'utf8')) as { url: string; token: string }
  const posted = async (to: string, body: object, headers: Record<string, string>) => {
    const sent = { 'content-type': 'application/json', ...headers }
    const response = await fetch(to, { method: 'POST', body: JSON.stringify(body), headers: sent })
    if (!response.ok) throw new Error(`${to} was answered: ${response.status} ${await response.text()}`)
    return response
  }
  const order = { role: 'owner', by: 'bench' }
  const made = await posted(`${url}/admin/v1/console/link`, order, { authorization: `Bearer ${token}` })
  const { origin, hash } = new URL(((await made.json()) as { link: string }).link)
  const begun = await posted(`${origin}/api/session`, { token: hash.slice(1) }, { origin })
  const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const { key } = (await begun.json()) as { key: string }
  const session = { origin, cookie, 'farebox-page-key': key }
  const nexts = new Map<Question, string | null>()
  return async (question, time) => {
    const after = nexts.get(question)
    const input = { ...question.input(time), ...(after ? { after } : {}) }
    const answer = await posted(`${origin}${question.path}`, input, session)
    if (question.isPaged) nexts.set(question, ((await answer.json()) as { next: string | null }).next)
    else await answer.arrayBuffer()
  }
}

async function measureSide(side: AskedSide): Promise<Figure[]> {
  const { name, pid = 0, questions, prepared } = side
  const figures: Figure[] = []
  const noteMemory = (load: (typeof memories)[number]) =>
    figures.push({ load, side: name, metric: metrics.memory, rounds: [residentBytesOf(pid) / 2 ** 20] })
  await closedLoop(side, 8, warmUpMs)
  const ask = await signIn(prepared)
  noteMemory(memories[0])
  for (const question of questions) await ask(question, 0)
  noteMemory(memories[1])
  process.stderr.write(`${name}: ${questions.length} questions, ${asks} times each.\n`)
  const timesMs = questions.map(() => [] as number[])
  for (let time = 1; time <= asks; time++) {
    for (const [index, question] of questions.entries()) {
      const askedAt = performance.now()
      await ask(question, time)
      timesMs[index]?.push(performance.now() - askedAt)
    }
  }
  noteMemory(memories[2])
  for (const [index, { name: load }] of questions.entries()) {
    const of = timesMs[index] ?? []
    figures.push({ load, side: name, metric: metrics.p95, rounds: [quantile(of, 0.95)], digits: 1 })
    figures.push({ load, side: name, metric: metrics.p50, rounds: [quantile(of, 0.5)], digits: 1 })
  }
  return [...figures, ...(await measureCallers(side, ask))]
}

/** Chats at a fixed rate, with and without an operator in turn. */
async function measureCallers(side: AskedSide, ask: Ask): Promise<Figure[]> {
  process.stderr.write(`${side.name}: chats ${alone} and ${beside} in turn.\n`)
  const of: Record<string, number[]> = { [alone]: [], [beside]: [] }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [alone, beside] : [beside, alone]
    for (const load of order) {
      const ended = new AbortController()
      const clicking = load === beside ? click(side.questions, ask, round, ended.signal) : null
      const { p99Ms } = await openLoop(side, chatsPerSecond, phaseMs).finally(() => ended.abort())
      await clicking
      of[load]?.push(p99Ms)
    }
  }
  return [alone, beside].map(load => {
    const at = { load: `${chatsPerSecond} chats a second ${load}`, side: side.name, metric: metrics.p99 }
    return { ...at, rounds: of[load] ?? [], digits: 2 }
  })
}

/** Opens one page after another: all questions of a page at once. */
async function click(questions: readonly Question[], ask: Ask, round: number, ended: AbortSignal): Promise<void> {
  const pages = [...Map.groupBy(questions, ({ page }) => page).values()]
  for (let time = round * 100; !ended.aborted; time++) {
    await Promise.all((pages[time % pages.length] ?? []).map(question => ask(question, time)))
    await sleep(clickEveryMs)
  }
}

function goalsOf(figures: readonly Figure[], side: string): Line[] {
  const of = (metric: string, load?: string) =>
    figures.filter(each => each.side === side && each.metric === metric && (load === undefined || each.load === load))
  const slowest = of(metrics.p95).reduce((one, other) => ((one.rounds[0] ?? 0) >= (other.rounds[0] ?? 0) ? one : other))
  const [before = 1, warm = 1, after = 1] = memories.map(load => of(metrics.memory, load)[0]?.rounds[0] ?? Number.NaN)
  const [without, clicked] = of(metrics.p99).map(({ rounds: p99 }) => median(p99))
  const [percent, ms] = [
    { unit: ' ×', digits: 2 },
    { unit: ' ms', digits: 1 },
  ]
  return [
    {
      what: `slowest p95 on ${side} (${slowest.load})`,
      value: slowest.rounds[0] ?? Number.NaN,
      atMost: mostAnswerMs,
      ...ms,
    },
    {
      what: `memory on ${side}, after all queries × after each query once`,
      value: after / warm,
      atMost: 1.2,
      ...percent,
    },
    { what: `memory on ${side}, after all queries × before the first query`, value: after / before, ...percent },
    {
      what: `p99 of a paid chat on ${side}, added by an operator`,
      value: (clicked ?? 0) - (without ?? 0),
      atMost: 10,
      ...ms,
    },
  ]
}
