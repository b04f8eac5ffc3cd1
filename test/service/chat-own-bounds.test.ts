/** An answer that our own limits cut off is charged as if the caller had left; an engine's own failure is free. */

import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { OpenAiChat } from '#engines/openai/chat.ts'
import {
  asEvents,
  asJson,
  chunk,
  completion,
  event,
  finish,
  type Upstream,
  upstream,
} from '../engines/openai/upstream.ts'
import { type ChatFixture, openFixture, prompt } from './chat-fixture.ts'
import { used } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { textModel } from './models/example-models.ts'

/** A hundred seconds of thought at the pace that is assumed of an engine, which has said nothing of its own. */
const thoughtMs = 100_000
const thought = 10n * 2_000n

let open: { fixture: ChatFixture; server: Upstream } | null = null
afterEach(async () => {
  if (!open) return
  const { fixture, server } = open
  await expect.poll(() => fixture.openHolds()).toBe(0)
  await closeSound(fixture.service)
  await server.close()
})

/** A service whose engine is a real server that answers like this, and is given little time. */
async function against(answer: (response: ServerResponse) => unknown, answerMs = 400) {
  const server = await upstream(response => void answer(response))
  const timeouts = { answerMs, firstByteMs: 400, silenceMs: 400 }
  const engine = new OpenAiChat({ baseUrl: server.baseUrl, timeouts })
  const { capabilities } = textModel()
  const fixture = await openFixture({ model: { engine, capabilities: { ...capabilities, supportsReasoning: true } } })
  open = { fixture, server }
  const customer = await fixture.customer(100)
  const asked = () => expect.poll(() => server.seen.length).toBe(1)
  const charged = async () => {
    await expect.poll(() => fixture.openHolds()).toBe(0)
    return (await fixture.ledger(customer.account)).charged
  }
  return { fixture, customer, server, asked, charged }
}

const oneWord = asEvents([event(chunk('one'))], { end: false })

describe('an answer that a limit of ours has cut', () => {
  test('whole, because it took too long: the prompt, and what its model can have thought', async () => {
    const { fixture, customer, asked, charged } = await against(() => undefined)
    const answer = fixture.chat(customer)
    await asked()
    fixture.service.clock.pass(thoughtMs)
    const { status, headers } = await answer
    expect([status, headers.get('x-should-retry'), await charged()]).toEqual([504, 'false', prompt + thought])
  })

  test('whole, because it is too large: the prompt, and the least tokens of that', async () => {
    const blanks = ' '.repeat(33 * 1024 * 1024)
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: blanks } }]
    const { fixture, customer, charged } = await against(asJson({ ...completion, choices }), 20_000)
    const { status, headers } = await fixture.chat(customer, { max_tokens: 5_000 })
    expect([status, headers.get('x-should-retry')]).toEqual([500, 'false'])
    expect(await charged()).toBe(prompt + 50_000n)
  })

  test('streamed, because it was silent for too long: what it delivered too', async () => {
    const { fixture, customer, charged } = await against(oneWord)
    const answer = await fixture.chat(customer, { stream: true })
    const reader = answer.body?.getReader()
    await reader?.read()
    fixture.service.clock.pass(thoughtMs)
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read());
    expect(await charged()).toBe(prompt + 10n + thought)
  })

  test('streamed, because it did not end after its reason: what it delivered, and no thought', async () => {
    const said = asEvents([event(chunk('one')), event(finish)], { end: false })
    const { fixture, customer, charged } = await against(said)
    const answer = await fixture.chat(customer, { stream: true })
    const reader = answer.body?.getReader()
    const pieces: Uint8Array[] = []
    for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) {
      pieces.push(step.value)
      if (pieces.length === 1) fixture.service.clock.pass(thoughtMs)
    }
    expect(Buffer.concat(pieces).toString()).toMatch(/"finish_reason":"stop".*\[DONE\]\s*$/s)
    expect(await charged()).toBe(prompt + 10n)
  })

  test('streamed, after its reader has left', async () => {
    const { fixture, customer, charged } = await against(oneWord)
    const reader = (await fixture.chat(customer, { stream: true })).body?.getReader()
    await reader?.read()
    fixture.service.clock.pass(thoughtMs)
    await reader?.cancel()
    expect(await charged()).toBe(prompt + 10n + thought)
  })

  test('under an Idempotency-Key, once', async () => {
    const { fixture, customer, asked, charged, server } = await against(() => undefined)
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${customer.key}`,
      'idempotency-key': 'a-slow-one',
    }
    const answer = fixture.chat(customer, {}, { headers })
    await asked()
    fixture.service.clock.pass(thoughtMs)
    expect((await answer).status).toBe(504)
    expect([(await fixture.chat(customer, {}, { headers })).status, server.seen.length]).toEqual([504, 1])
    expect(await charged()).toBe(prompt + thought)
  })
})

describe('an engine that fails by itself is free', () => {
  test.each<[how: string, answer: (response: ServerResponse) => unknown, stream: boolean]>([
    ['whole, by breaking the connection off', response => response.destroy(), false],
    ['whole, by an error', asJson({ error: { message: 'down' } }, 500), false],
    ['streamed, by breaking off before its first word', response => response.destroy(), true],
    ['streamed, by never answering', () => undefined, true],
    ['whole, by an answer without a choice', asJson({ ...completion, choices: [], usage: used(20, 9_000) }), false],
    [
      'streamed, by usage without a choice',
      asEvents([event({ ...chunk(''), choices: [], usage: used(20, 9_000) }), 'data: [DONE]\n\n']),
      true,
    ],
  ])('%s', async (_how, answer, stream) => {
    const { fixture, customer, charged } = await against(answer)
    const response = await fixture.chat(customer, { stream })
    expect(response.status).toBeGreaterThanOrEqual(500)
    expect(response.headers.has('x-should-retry')).toBe(false)
    expect(await charged()).toBe(0n)
  })
})

describe('a request for an answer that is larger than one may be', () => {
  const listed = { n: 4, logprobs: true, top_logprobs: 20 }
  const sent = () => asJson({ ...completion, usage: used(20, 1) })

  test.each<[what: string, body: object, field: string]>([
    ['too many tokens', { ...listed, max_tokens: 6_000 }, 'max_tokens'],
    ['by their other name', { ...listed, max_completion_tokens: 6_000 }, 'max_completion_tokens'],
    ['of one choice', { ...listed, n: 1, max_tokens: 16_000 }, 'max_tokens'],
    ['with more log probabilities than any fits', { logprobs: true, top_logprobs: 1_000_000 }, 'top_logprobs'],
  ])('is refused by its name before anything is held: %s', async (_what, body, field) => {
    const { fixture, customer, server, charged } = await against(sent())
    const answer = await fixture.chat(customer, body)
    const text = await answer.text()
    expect([answer.status, JSON.parse(text).issues?.[0]?.path ?? text]).toEqual([400, [field]])
    expect(text).toMatch(/allowed values: up to \d+ tokens/)
    expect([server.seen.length, await charged()]).toEqual([0, 0n])
  })

  test.each<[what: string, body: object]>([
    ['as many tokens as are allowed', { ...listed, max_tokens: 3_000 }],
    ['no log probabilities', { n: 4, max_tokens: 6_000 }],
    ['a stream of it', { ...listed, max_tokens: 6_000, stream: true }],
  ])('is taken with %s', async (_what, body) => {
    const { fixture, customer } = await against(
      'stream' in body ? asEvents([event(chunk('one')), 'data: [DONE]\n\n']) : sent(),
    )
    const answer = await fixture.chat(customer, body)
    await answer.text()
    expect(answer.status).toBe(200)
  })

  test('without a maximum it gets one that fits', async () => {
    const { fixture, customer, server } = await against(sent())
    expect((await fixture.chat(customer, listed)).status).toBe(200)
    const { max_tokens: most, n } = server.seen[0]?.body ?? {}
    expect(Number(most) * Number(n)).toBeLessThan(12_600)
    expect(Number(most)).toBeGreaterThan(2_000)
  })
})
