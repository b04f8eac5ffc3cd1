import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { boundedTokens } from '../bounds.ts'
import type { KeyedCall } from '../load-records.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, send, textOf } from '../send.ts'
import { chatOf } from './prompts.ts'

/** New calls under a key, some of them twice at once, and old ones: those that a kill has cut, and those that were answered. */
export async function keyedCalls(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    const old = seeded.once(2) ? pickOld(round, seeded) : undefined
    if (old) await askKeyed(round, old)
    else await askAnew(round, seeded)
  }
}

/** What a killed process left is refused until its lease ends; then only answered calls are asked again. */
function pickOld({ book, budget }: Round, seeded: Seeded): KeyedCall | undefined {
  const free = book.keyed.filter(({ underWay }) => underWay === 0)
  const answered = free.filter(({ acknowledged }) => acknowledged)
  if (budget.keyConflicts <= 0) return seeded.pick(answered)
  const cut = free.filter(({ acknowledged }) => !acknowledged)
  return seeded.pick(cut.length && !seeded.once(3) ? cut : free)
}

async function askAnew(round: Round, seeded: Seeded): Promise<void> {
  const isStream = seeded.once(2)
  const options = isStream ? { stream: true, stream_options: { include_usage: true } } : {}
  const call: KeyedCall = {
    key: randomUUID(),
    kind: isStream ? 'keyed stream' : 'keyed chat',
    body: { ...chatOf(seeded, 60), max_tokens: 1 + seeded.below(boundedTokens), ...options },
    sent: 0,
    underWay: 0,
    wasCut: false,
    acknowledged: null,
  }
  round.book.keyed.push(call)
  if (isStream && seeded.once(3)) return leaveAndAsk(round, call, seeded)
  const twins = seeded.once(4) && round.budget.keyConflicts > 0 ? [call, call] : [call]
  await Promise.all(twins.map(each => askKeyed(round, each)))
}

/** The work of a stream goes on when its reader leaves; who comes again is given what had come, and the rest. */
async function leaveAndAsk(round: Round, call: KeyedCall, seeded: Seeded): Promise<void> {
  const seen = await askKeyed(round, call, 1 + seeded.below(8))
  await sleep(300 + seeded.below(700))
  if (round.isOver()) return
  await askKeyed(round, call)
  const answer = call.acknowledged?.body
  if (seen === null || answer === undefined || round.mayFail() || round.isOver() || answer.startsWith(seen)) return
  round.book.surprise('keyed stream', `its reader saw ${seen.slice(-80)}, and was then given ${answer.slice(0, 80)}`)
}

/** Sends it, and answers what came of it; a reader who leaves does so after so many pieces. */
export async function askKeyed(round: Round, call: KeyedCall, pieces = Infinity): Promise<string | null> {
  const { book } = round
  const known = call.acknowledged
  const leaving = new AbortController()
  const isAlone = call.underWay++ === 0
  const nth = ++call.sent
  try {
    const response = await send(round, {
      kind: call.kind,
      path: '/chat/completions',
      headers: { authorization: `Bearer ${round.keyed.key}`, 'idempotency-key': call.key },
      body: call.body,
      signal: leaving.signal,
    })
    if (response?.status === 200) return await answered(round, call, known, response, { pieces, leaving })
    if (response?.status === 409) round.budget.keyConflicts--
    // A twin that was sent later may have come first.
    const mayRun = !isAlone || call.sent > nth || call.wasCut
    if (response) await refused(round, call.kind, response, mayRun ? [409] : [])
    if (response && known && !round.mayFail())
      book.surprise('keyed repeat', `${response.status} after an answer that was acknowledged`)
    // A refusal had no effect; any other end may have had one.
    call.wasCut ||= response === null || response.status >= 500
    return null
  } finally {
    call.underWay--
  }
}

interface Reading {
  pieces: number
  leaving: AbortController
}

async function answered(
  round: Round,
  call: KeyedCall,
  known: KeyedCall['acknowledged'],
  response: Response,
  reading: Reading,
): Promise<string | null> {
  const { book } = round
  const isReplayed = response.headers.get('idempotent-replayed') === 'true'
  if (known && !isReplayed) book.surprise('keyed repeat', 'was answered as new work')
  const body = Number.isFinite(reading.pieces) ? await beginningOf(response, reading) : await textOf(response)
  const costMicroUsd = body === null ? null : costIn(call, body)
  if (body === null || costMicroUsd === null) {
    call.wasCut = true
    return body
  }
  const before = call.acknowledged
  call.acknowledged ??= { body, costMicroUsd }
  if (before && before.body !== body)
    book.surprise('keyed repeat', `${before.body.slice(-120)} became ${body.slice(-120)}`)
  book.count(before ? 'keyed repeat' : call.kind)
  return body
}

/** What a reader sees before it leaves; null where the connection broke. */
async function beginningOf(response: Response, { pieces, leaving }: Reading): Promise<string | null> {
  const decoder = new TextDecoder()
  let seen = ''
  let left = pieces
  try {
    for await (const piece of response.body ?? []) {
      seen += decoder.decode(piece, { stream: true })
      if (--left === 0) break
    }
    leaving.abort()
    return seen
  } catch {
    return null
  }
}

const lastEvent = 'data: [DONE]\n\n'

/** Null where the answer is not whole. */
function costIn({ kind }: KeyedCall, body: string): bigint | null {
  if (kind === 'keyed chat') return costOf(JSON.parse(body))
  if (!body.endsWith(lastEvent)) return null
  const events = body.split('\n\n').filter(event => event.startsWith('data: {'))
  return events.reduce<bigint | null>((cost, event) => costOf(JSON.parse(event.slice('data: '.length))) ?? cost, null)
}
