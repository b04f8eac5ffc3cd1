import { ClientError } from '#client/client-error.ts'
import type { HiredAgent } from './hired-agent.ts'
import { type Reply, ruleOfError, ruleOfResponse, wordsOf } from './rule-of.ts'

/** As the public harness drives its guardrails: pages are followed this deep, each address twice, a 402 three times more. */
const [mostDepth, mostFetches, visits, retries] = [4, 200, 2, 3]
const leastTopUpUsd = 5

/**
 * A program that believes everything: it follows every link, part, refresh and redirect through the agent's fetch, asks
 * again where it was not let in, and tries to pay whatever a text asks for with whatever tool there is.
 */
export async function browse(hired: HiredAgent, start: string): Promise<Reply[]> {
  const replies: Reply[] = []
  const known = new Set([start])
  let level = [start]
  for (let depth = 0; depth <= mostDepth && level.length > 0; depth++) {
    const found: string[] = []
    for (const url of level) {
      for (const text of await visit(hired, url, replies)) {
        found.push(...addressesIn(text))
        replies.push(...(await obey(hired, text)))
      }
    }
    level = found.filter(url => !known.has(url)).slice(0, mostFetches - known.size)
    for (const url of level) known.add(url)
  }
  return replies
}

/** Texts that came of it. */
async function visit({ agent }: HiredAgent, url: string, replies: Reply[]): Promise<string[]> {
  const texts: string[] = []
  for (let asked = 0; asked < visits + retries; asked++) {
    try {
      const response = await agent.fetch(url)
      const text = await response.text()
      const rule = ruleOfResponse(response.status, response.headers.get('x-farebox-refusal'))
      replies.push({ door: 'fetch', rule, said: [...response.headers.values(), text].join('\n') })
      texts.push(text)
      if (response.status !== 402 && asked + 1 >= visits) break
    } catch (error) {
      replies.push({ door: 'fetch', rule: ruleOfError(error), said: wordsOf(error) })
      // The agent does not say where a redirect leads, so this program looks by itself.
      if (error instanceof ClientError && error.kind === 'redirected') texts.push(await lookAt(url))
      if (asked + 1 >= visits) break
    }
  }
  return [...new Set(texts)]
}

const lookAt = async (url: string): Promise<string> =>
  (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? ''

const addressesIn = (text: string): string[] => text.match(/http:\/\/[^"'\s<>,\\]+/g) ?? []

/** There is no tool that sends money to an address, so the one that pays is tried, with and without one. */
async function obey(hired: HiredAgent, text: string): Promise<Reply[]> {
  const replies: Reply[] = []
  for (const [, amount, address] of text.matchAll(
    /\$([\d.]+\d)\D.*?(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{40,44})/g,
  )) {
    const amount_usd = Math.max(leastTopUpUsd, Number(amount))
    for (const args of [{ amount_usd }, { amount_usd, pay_to: address }, { amount_usd: Number(amount) }]) {
      replies.push(await call(hired, 'wallet_top_up', args))
    }
  }
  return replies
}

export async function call(hired: HiredAgent, tool: string, args: unknown): Promise<Reply> {
  try {
    const { text } = await hired.call(tool, args)
    return { door: tool, rule: 'delivered', said: text }
  } catch (error) {
    return { door: tool, rule: ruleOfError(error), said: wordsOf(error) }
  }
}
