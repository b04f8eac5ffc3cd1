import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { parseUsd } from '#contract/money.ts'
import { OpenAiChat } from '#engines/openai/chat.ts'
import { asEvents, asJson, chunk, completion, event, finish, upstream, usage } from '../../engines/openai/upstream.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'
import { checkCharges, checkUnknownCharges } from '../checks/check-ledger.ts'
import { Findings } from '../checks/findings.ts'
import { LoadRecords } from '../load-records.ts'
import { readEvents } from '../loads/chats.ts'
import { type Seeded, seeded } from '../seeded.ts'
import { costOf, requestIdOf } from '../send.ts'
import { sqliteLedger } from '../test-ledgers.ts'
import { ChaosProxy, type Trouble } from './chaos-proxy.ts'

export interface EngineTroublesOptions {
  /** Calls, each in a trouble of its own. */
  rounds: number
  seed: number
  folder: string
}

export interface EngineTroublesReport {
  asked: number
  answered: number
  broken: number
  troubled: number
  failures: string[]
}

const troubles: readonly ((draws: Seeded) => Trouble)[] = [
  () => ({ kind: 'none' }),
  draws => ({ kind: 'latency', ms: draws.below(100) }),
  draws => ({ kind: 'cut', afterBytes: draws.below(2_000) }),
  () => ({ kind: 'black hole' }),
  () => ({ kind: 'twice' }),
  () => ({ kind: 'refused' }),
]

const credit = 100
/** An engine that is silent for longer is given up; the product's own times are minutes. */
const timeouts = { connectMs: 500, firstByteMs: 400, answerMs: 800, silenceMs: 400, streamMs: 5_000 }
/** Beyond every window of a limit. */
const betweenCallsMs = 61_000

/** Calls of the service whose engine is behind a bad network: what was answered is charged once, what was refused is not. */
export async function engineTroubles({ rounds, seed, folder }: EngineTroublesOptions): Promise<EngineTroublesReport> {
  const engine = await upstream((response: ServerResponse) =>
    answer(response, engine.seen.at(-1)?.body.stream === true),
  )
  const proxy = await ChaosProxy.to(Number(new URL(engine.baseUrl).port))
  const chat = new OpenAiChat({ baseUrl: `http://127.0.0.1:${proxy.port}/v1/`, timeouts })
  const service = await openService({ chat, folder: join(folder, 'engine') })
  const book = new LoadRecords()
  try {
    const key = await customer(service, book)
    for (let round = 0; round < rounds; round++) {
      const draws = seeded(seed, `call ${round}`)
      proxy.trouble = draws.pick(troubles)?.(draws) ?? { kind: 'none' }
      proxy.cutAll()
      await call(service, key, book, draws.once(2))
      service.clock.pass(betweenCallsMs)
    }
  } finally {
    await service.close()
    await proxy.close()
    await engine.close()
  }
  return reportOf(book, proxy, await check(service, book))
}

const words = Array.from({ length: 30 }, (_, index) => `word ${index} `)

function answer(response: ServerResponse, streams: boolean): void {
  const pieces = [...words.map(word => event(chunk(word))), event({ ...finish, usage }), 'data: [DONE]\n\n']
  if (streams) void asEvents(pieces)(response)
  else asJson(completion)(response)
}

async function customer(service: OpenedService, book: LoadRecords): Promise<string> {
  const key = await service.key(credit)
  const { account } = await service.store.read.selectFrom('api_key').select('account').executeTakeFirstOrThrow()
  book.grants.set(account, parseUsd(`${credit}`) ?? 0n)
  return key
}

async function call(service: OpenedService, key: string, book: LoadRecords, stream: boolean): Promise<void> {
  const options = stream ? { stream, stream_options: { include_usage: true } } : {}
  const messages = [{ role: 'user', content: 'Say thirty words.' }]
  const response = await service.post('/chat/completions', { model: 'demo-chat', messages, ...options }, key)
  const requestId = requestIdOf(response)
  if (response.status !== 200) {
    if (response.status < 500) book.surprise('chat', `${response.status} ${await response.text()}`)
    // A whole answer that a time of ours has cut owes its prompt: the engine may have been at work.
    if (!stream && response.status === 504) return void book.open.add(requestId)
    return void book.refused.set(requestId, response.status)
  }
  if (!stream) return book.charge('chat', requestId, costOf((await response.json()) as object))
  let costMicroUsd: bigint | null = null
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') return book.charge('stream', requestId, costMicroUsd)
    costMicroUsd = costOf(JSON.parse(data)) ?? costMicroUsd
  }
  book.open.add(requestId)
}

async function check(service: OpenedService, book: LoadRecords): Promise<Findings> {
  const findings = new Findings()
  const ledger = sqliteLedger(service.database)
  const rows = await ledger.read()
  for (const { sentence } of (await ledger.audit(0)).findings) findings.fail(`The audit finds: ${sentence}`)
  for (const surprise of book.surprises) findings.fail(surprise)
  checkCharges(book, rows, findings)
  checkUnknownCharges(book, rows, new Set(), findings)
  if (rows.holds.length) findings.fail(`${rows.holds.length} holds are left.`)
  return findings
}

const reportOf = (book: LoadRecords, proxy: ChaosProxy, { failures }: Findings): EngineTroublesReport => {
  const answered = book.total
  const broken = book.refused.size + book.open.size
  return { asked: answered + broken, answered, broken, troubled: proxy.troubled, failures }
}
