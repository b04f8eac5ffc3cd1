import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { ModelList, tokenPricing } from '#contract/operations/models.ts'
import * as bounds from '../bounds.ts'
import type { TokenPrice } from '../checks/check-recovered.ts'
import type { BrokenStream } from '../load-records.ts'
import { makeSmallCustomer } from '../prepare.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send } from '../send.ts'
import { isFailure, readEvents } from './chats.ts'
import { longChat, slowChat } from './prompts.ts'

/** Streams of a large model's pace: each kill finds them open, with checkpoints that were written because time went by. */
export const slowStreamsToBreak = (round: Round, seeded: Seeded) => readUntilOver(round, seeded, slowChat)

/** Streams of hundreds of tokens a second: their checkpoints are written because of the tokens. */
export const longStreamsToBreak = (round: Round, seeded: Seeded) => readUntilOver(round, seeded, longChat)

async function readUntilOver(round: Round, seeded: Seeded, asked: object): Promise<void> {
  while (!round.isOver()) {
    // An account with little credit, whose holds are extended on the way, or one with more than it needs.
    const small = seeded.once(2)
      ? await makeSmallCustomer(round.folder, bounds.streamCreditMicroUsd, round.book)
      : undefined
    if (small !== null) await streamOnce(round, small?.key ?? seeded.pick(round.keys) ?? '', asked)
  }
}

async function streamOnce(round: Round, key: string, asked: object): Promise<void> {
  const { book } = round
  const leaving = new AbortController()
  const body = { ...asked, stream: true, stream_options: { include_usage: true } }
  const response = await send(round, {
    kind: 'stream',
    path: '/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    body,
    signal: leaving.signal,
  })
  if (!response) return
  if (response.status !== 200) return void (await refused(round, 'stream', response))
  const request = requestIdOf(response)
  const read = await readPieces(round, response)
  if (read.end === 'whole') return book.charge('stream', request, read.costMicroUsd)
  book.open.add(request)
  if (read.end === 'left') {
    leaving.abort()
    return book.count('cut stream')
  }
  if (!round.mayBreak()) book.surprise('stream', `broke off while the server was alive (${request})`)
  if (read.end === 'failed' || (round.mayFail() && !round.isOver())) return
  // A reader on a busy machine notices late that its server was killed.
  const atMs = Math.min(Date.now(), round.killedAtMs())
  const broken = brokenStream(read.pieces, { atMs, bodyBytes: JSON.stringify(body).length, ...book.slowestChat(atMs) })
  // While the store was away nothing was written down.
  book.broken.set(request, round.mayFail() ? { ...broken, leastTokens: 0 } : broken)
}

interface Piece {
  atMs: number
  text: string
}

interface Read {
  pieces: Piece[]
  end: 'whole' | 'left' | 'broken' | 'failed'
  costMicroUsd: bigint | null
}

/** Reads on for a moment after the round: a server that was killed has broken off by then. */
async function readPieces(round: Round, response: Response): Promise<Read> {
  const read: Read = { pieces: [], end: 'broken', costMicroUsd: null }
  const reading = { sinceMs: Date.now() }
  round.book.reading.add(reading)
  let leaveAtMs = Number.POSITIVE_INFINITY
  try {
    for await (const data of readEvents(response)) {
      if (data === '[DONE]') return { ...read, end: 'whole' }
      const event = JSON.parse(data)
      if (isFailure(event)) return { ...read, end: 'failed' }
      const atMs = Date.now()
      const text: unknown = event.choices?.[0]?.delta?.content
      if (typeof text === 'string' && text !== '') read.pieces.push({ atMs, text })
      read.costMicroUsd = costOf(event) ?? read.costMicroUsd
      if (round.isOver()) leaveAtMs = Math.min(leaveAtMs, atMs + bounds.leaveAfterMs)
      if (atMs > leaveAtMs) return { ...read, end: 'left' }
    }
  } catch {
    // The server was killed.
  } finally {
    round.book.reading.delete(reading)
  }
  return read
}

interface Break {
  atMs: number
  bodyBytes: number
  /** The time that a whole chat took meanwhile, which needs two commits: a checkpoint can take as long. */
  slowestMs: number
}

/** What its charge has to be worth, whatever the service has written down. */
export function brokenStream(pieces: readonly Piece[], { atMs: brokeAtMs, bodyBytes, slowestMs }: Break): BrokenStream {
  const lateMs = Math.max(0, slowestMs - bounds.commitMs)
  const tokensOf = (some: readonly Piece[]) => encode(some.map(({ text }) => text).join('')).length
  const tokensBefore = (ms: number) => tokensOf(pieces.filter(({ atMs }) => atMs <= brokeAtMs - ms - lateMs))
  return {
    leastTokens: Math.max(tokensBefore(bounds.lostMs), tokensBefore(bounds.commitMs) - bounds.lostTokens, 0),
    // What the reader received was generated, even if a busy machine let it be read only after the kill.
    mostTokens: tokensOf(pieces) + bounds.aheadTokens,
    bodyBytes,
  }
}

/** As the service lists it: USD for a million tokens. */
export async function priceOfStreams(baseUrl: string): Promise<TokenPrice> {
  const { data } = ModelList.parse(await (await fetch(`${baseUrl}/models`)).json())
  const pricing = tokenPricing(data.find(({ id }) => id === slowChat.model)?.model_spec.pricing)
  if (!pricing) throw new Error(`${slowChat.model} has no price of tokens.`)
  const pico = ({ usd }: { usd: number }) => BigInt(Math.round(usd * 1_000_000))
  return { inputPicoUsd: pico(pricing.input), outputPicoUsd: pico(pricing.output) }
}
