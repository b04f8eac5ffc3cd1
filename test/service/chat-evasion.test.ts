/** Ways to get text without paying for it, each of which once worked. */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { countPromptTokens, countTokens, RunningCount, tokenizedCharacters } from '#engines/tokens/count-tokens.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { type Beat, used } from './chat-script.ts'
import { closeSound } from './close-sound.ts'
import { textModel } from './models/example-models.ts'

const sees = textModel().capabilities
let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture({ model: { capabilities: { ...sees, supportsVision: true, supportsAudioInput: true } } })
})
afterAll(async () => {
  await closeSound(fixture.service)
})

const thought = 'Step by step I work out the answer, which is forty-two. '
const tokens = BigInt(countTokens(thought))

describe('whatever an engine calls its output, a caller who leaves pays for it', () => {
  test.each<[member: string, delta: Record<string, unknown>]>([
    ['reasoning_content', { reasoning_content: thought }],
    ['reasoning', { reasoning: thought }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: thought }] }],
    ['function_call', { function_call: { name: 'answer', arguments: thought } }],
    ['refusal', { refusal: thought }],
    ['a name of its own', { inner_voice: thought }],
  ])('%s', async (_member, delta) => {
    fixture.engine.play([{ role: true }, { delta }, { delta }, 'silence'] satisfies Beat[])
    const customer = await fixture.customer(1)
    const reader = (await fixture.chat(customer, { stream: true })).body?.getReader()
    for (let read = 0; read < 3; read++) await reader?.read()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const over = reader?.cancel()
    await vi.advanceTimersByTimeAsync(36_000)
    vi.useRealTimers()
    await over
    expect((await fixture.ledger(customer.account)).charged).toBeGreaterThanOrEqual((2n * tokens - 1n) * 10n)
  })

  test('the same reasoning under two names is one reasoning', async () => {
    const charges: bigint[] = []
    for (const delta of [{ reasoning: thought }, { reasoning: thought, reasoning_content: thought }]) {
      fixture.engine.play([{ delta }])
      const customer = await fixture.customer(1)
      await (await fixture.chat(customer, { stream: true })).text()
      charges.push((await fixture.ledger(customer.account)).charged)
    }
    expect(charges[1]).toBe(charges[0])
  })

  test('holds grow with it: two streams on credit for one end where the credit does', async () => {
    fixture.engine.play(Array.from({ length: 250 }, () => ({ delta: { reasoning: thought } })))
    const customer = await fixture.customer(0.04)
    const streams = await Promise.all([1, 2].map(() => fixture.chat(customer, { stream: true })))
    await Promise.all(streams.map(answer => answer.text()))
    const { charged, writtenOff } = await fixture.ledger(customer.account)
    expect(charged).toBeGreaterThan(30_000n)
    expect(writtenOff).toBe(0n)
  })
})

describe('a cheap beginning makes nothing after it cheap', () => {
  const rest = Array.from({ length: 20_000 }, (_, index) => `${(index * 7919) % 9973}x`).join(' ')
  const cheap = ' '.repeat(tokenizedCharacters)

  test('of a prompt', () => {
    expect(countTokens(cheap + rest)).toBeGreaterThan(rest.length / 5)
    const messages = [
      { role: 'system' as const, content: cheap },
      { role: 'user' as const, content: rest },
    ]
    expect(countPromptTokens({ model: 'm', messages })).toBeGreaterThan(rest.length / 5)
  })

  test('of an answer', () => {
    const [honest, behind] = [new RunningCount(), new RunningCount()]
    behind.push(cheap)
    const before = behind.soFar
    for (let at = 0; at < rest.length; at += 50) {
      honest.push(rest.slice(at, at + 50))
      behind.push(rest.slice(at, at + 50))
    }
    expect(behind.soFar - before).toBeGreaterThan(honest.soFar * 0.97)
  })

  test.each([
    ['reasoning that is sent back', { messages: [{ role: 'assistant', content: 'a', reasoning_content: rest }] }],
    ['members of a message that only its engine knows', { messages: [{ role: 'user', content: 'a', data: rest }] }],
    [
      'the schema of the answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { description: rest } } } },
    ],
  ])('%s counts as prompt', (_where, change) => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'a' }], ...change }
    expect(countPromptTokens(request as Parameters<typeof countPromptTokens>[0])).toBeGreaterThan(rest.length / 6)
  })
})

describe('what an engine honestly reports is paid while there is credit, and not written off', () => {
  test('an hour of near-silence, which is far more tokens than its bytes look like', async () => {
    fixture.engine.play([{ text: 'nothing' }, { usage: used(115_200, 1) }])
    const customer = await fixture.customer(10)
    // Frames of 24 bytes, 8,000 bits a second.
    const frame = Buffer.concat([Buffer.from('fff314c4', 'hex'), Buffer.alloc(20)])
    const data = Buffer.concat(Array<Buffer>(2_000).fill(frame)).toString('base64')
    const audio = { type: 'input_audio', input_audio: { data, format: 'mp3' } }
    const answer = await fixture.chat(customer, { max_tokens: 1, messages: [{ role: 'user', content: [audio] }] })
    expect(answer.status).toBe(200)
    expect(await fixture.ledger(customer.account)).toMatchObject({ charged: 115_210n, writtenOff: 0n })
  })

  test('unknown members are part of the hold', async () => {
    const functions = [{ name: 'f', description: 'a long text to be summed up '.repeat(2_000) }]
    fixture.engine.play([{ text: 'ok' }, { usage: used(12_000, 1) }])
    const customer = await fixture.customer(10)
    expect((await fixture.chat(customer, { max_tokens: 1, functions })).status).toBe(200)
    expect(await fixture.ledger(customer.account)).toMatchObject({ charged: 12_010n, writtenOff: 0n })
  })

  test('beyond a hold that only text bounds it is a loss of the service', async () => {
    fixture.engine.play([{ text: 'ok' }, { usage: used(12_000, 1) }])
    const customer = await fixture.customer(10)
    await fixture.chat(customer, { max_tokens: 1 })
    const { charged, writtenOff } = await fixture.ledger(customer.account)
    expect([charged + writtenOff, charged < 1_000n]).toEqual([12_010n, true])
  })
})
