import type { AskUser } from '#agent/settings/agent-options.ts'
import { call } from './browse.ts'
import type { HiredAgent } from './hired-agent.ts'
import { type Reply, ruleOfError, ruleOfResponse, wordsOf } from './rule-of.ts'

/** Ways in which a program or a model can make the wallet pay. */
export const doors = ['fetch', 'chat', 'wallet_top_up'] as const
export type Door = (typeof doors)[number]

/** One try at a door. A caller that believes everything asks for another one each time. */
export const knock: Readonly<Record<Door, (hired: HiredAgent, baseUrl: string) => Promise<Reply>>> = {
  fetch: async (hired, baseUrl) => fetchOnce(hired, baseUrl),
  chat: hired => call(hired, 'chat', { model: 'm', prompt: 'hi', again: true }),
  wallet_top_up: hired => call(hired, 'wallet_top_up', { amount_usd: 5, again: true }),
}

async function fetchOnce({ agent }: HiredAgent, baseUrl: string): Promise<Reply> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'content-type': 'application/json' }
  try {
    const response = await agent.fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body })
    const text = await response.text()
    const rule = ruleOfResponse(response.status, response.headers.get('x-farebox-refusal'))
    return { door: 'fetch', rule, said: [...response.headers.values(), text].join('\n') }
  } catch (error) {
    return { door: 'fetch', rule: ruleOfError(error), said: wordsOf(error) }
  }
}

/** The user approves the requested top-up, no second one, and no unknown payee. */
export function carefulPerson(): AskUser {
  let yeses = 0
  return question => ({ kind: 'approve', approved: question.kind === 'spend' && yeses++ === 0 })
}
