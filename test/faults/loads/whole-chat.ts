import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { costOf, refused, requestIdOf, send, textOf } from '../send.ts'
import { chatOf } from './prompts.ts'

/** Chat whose answer comes whole; its cost stands in it. */
export async function wholeChat(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    await chatOnce(round, seeded, 'chat', { authorization: `Bearer ${seeded.pick(round.keys)}` })
  }
}

/** One of them, by whoever these headers identify. */
export async function chatOnce(
  round: Round,
  seeded: Seeded,
  kind: 'chat' | 'wallet chat',
  headers: Record<string, string>,
): Promise<void> {
  const { book } = round
  const response = await send(round, { kind, path: '/chat/completions', headers, body: chatOf(seeded, 400) })
  if (!response) return
  if (response.status !== 200) return void (await refused(round, kind, response))
  const body = await textOf(response)
  // A body that broke off is no acknowledgement.
  if (body === null) return void book.open.add(requestIdOf(response))
  const cost = costOf(JSON.parse(body))
  if (cost === null) book.surprise(kind, `200 without a cost: ${body}`)
  book.charge(kind, requestIdOf(response), cost)
}
