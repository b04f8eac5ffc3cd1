import { fromUsdNumber } from '#contract/money.ts'
import type { Visit } from './visit.ts'

/** One in so many callers leaves before the end. */
const leavers = 5

const bodyOf = (visit: Visit, stream: boolean): object => {
  const { draws, name } = visit
  const limit = draws.once(3) ? {} : { max_tokens: 1 + draws.below(600) }
  return {
    model: 'demo-chat',
    prompt_cache_key: name,
    messages: [{ role: 'user', content: 'x'.repeat(1 + draws.below(40)) }],
    ...limit,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
}

interface Costing {
  cost?: { usd: number; diem: number }
}

/** What an answer says that it cost, by whatever money; null where it does not say. */
export const costOf = ({ cost }: Costing): bigint | null => {
  if (!cost) return null
  const [usd, diem] = [fromUsdNumber(cost.usd), fromUsdNumber(cost.diem)]
  return usd === null || diem === null ? null : usd + diem
}

export async function wholeChat(visit: Visit): Promise<void> {
  if (visit.draws.once(leavers)) visit.leaveAfter(visit.draws.below(4_000))
  const response = await visit.ask({
    method: 'POST',
    path: '/api/v1/chat/completions',
    body: bodyOf(visit, false),
  })
  const text = await visit.text(response)
  const cost = response.status === 200 ? costOf(JSON.parse(text)) : null
  visit.answered(response.status, { cost })
  if (response.status === 200) visit.world.sometimes.reached('a chat was answered whole')
  if (response.status === 402) visit.world.sometimes.reached('a call was refused for want of credit')
}

/** Reads a stream to its end, or leaves after so many pieces. */
export async function streamedChat(visit: Visit): Promise<void> {
  const { draws, world } = visit
  const pieces = draws.once(leavers) ? draws.below(12) : Number.POSITIVE_INFINITY
  const pauseMs = draws.once(6) ? 4_000 : 0
  if (draws.once(3 * leavers)) visit.leaveAfter(draws.below(2_000))
  const response = await visit.ask({
    method: 'POST',
    path: '/api/v1/chat/completions',
    body: bodyOf(visit, true),
  })
  if (response.status !== 200 || !response.body) {
    await visit.text(response)
    return visit.answered(response.status)
  }
  const reader = response.body.getReader()
  let told = ''
  for (let piece = 0; ; piece++) {
    if (piece >= pieces) visit.leave()
    if (visit.hasLeft) {
      world.sometimes.reached('a reader left a stream')
      await visit.process.do(() => reader.cancel())
      return visit.answered(200)
    }
    const { done, value } = await visit.process.do(() => reader.read())
    if (done) break
    told += Buffer.from(value).toString()
    if (pauseMs) await world.time.wait(pauseMs)
  }
  const events = told.split('\n\n').filter(line => line.startsWith('data: {'))
  const last = JSON.parse(events.at(-1)?.slice('data: '.length) ?? '{}')
  if ('error' in last) world.sometimes.reached('a stream ended with an error in it')
  else world.sometimes.reached('a stream was read to its end')
  visit.answered(200, { cost: 'error' in last ? null : costOf(last) })
}
