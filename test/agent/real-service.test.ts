import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent } from '#agent/create-agent.ts'
import type { ApprovalRequest } from '#toolkit/approval.ts'
import { callByName } from './call-by-name.ts'
import { type LocalAgent, localAgent } from './local-agent.ts'

let local: LocalAgent
let service: LocalAgent['service']
let agent: Agent
let outputFolder = ''
const asked: ApprovalRequest[] = []

beforeAll(async () => {
  local = await localAgent({
    onApproval(question) {
      asked.push(question)
      return question.kind === 'consent'
        ? { kind: 'consent', termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
        : { kind: 'approve', approved: true }
    },
  })
  ;({ service, agent, outputFolder } = local)
}, 60_000)

afterAll(() => local?.close(), 60_000)

const call = (name: string, args: unknown) => callByName(agent, name, args)

test('the stock client of OpenAI pays by agent.fetch: models, a chat after a 402, a stream', async () => {
  const openai = new OpenAI({ baseURL: service.baseUrl, apiKey: 'not used', fetch: agent.fetch, maxRetries: 0 })
  const models = await openai.models.list()
  expect(models.data.map(model => model.id)).toContain('demo-chat')
  const messages = [{ role: 'user' as const, content: 'Say something about the sea.' }]
  const whole = await openai.chat.completions.create({ model: 'demo-chat', messages, max_tokens: 40 })
  expect(whole.choices[0]?.message.content).toBeTruthy()
  const stream = await openai.chat.completions.create({
    model: 'demo-chat',
    messages,
    max_tokens: 40,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let tokens = 0
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    tokens = chunk.usage?.completion_tokens ?? tokens
  }
  expect(text).toBeTruthy()
  expect(tokens).toBeGreaterThan(0)
  expect(await agent.wallet.receipts(10)).toMatchObject([{ state: 'confirmed', amountMicroUsd: 5_000_000n }])
})

test('a foreign origin gets no request', async () => {
  await expect(agent.fetch('https://example.com/api/v1/models')).rejects.toThrow(/only/)
})

test('a chat by its tool says what it cost and what is left', async () => {
  const { output } = await call('chat', { model: 'demo-chat', prompt: 'Hello', max_tokens: 30 })
  expect(output.charged_usd).toBeGreaterThan(0)
  expect(output.credit_left_usd).toBeGreaterThan(4)
  expect(output.budget_left_usd).toBe(5)
})

test.each([
  ['demo-image', /^demo-image is not a text model; it makes images\./, /^Text models are demo-chat/],
  ['demo-embedding', /^demo-embedding is not a text model; it makes embeddings\./, /^Text models are demo-chat/],
  ['demo-chatt', /^The service has no model demo-chatt\./, /^Similar ones are demo-chat/],
  ['zzz', /^The service has no model zzz\./, /models_find/],
])('a chat with %s asks for no approval: it lists the models at once', async (model, happened, next) => {
  const before = asked.length
  await expect(call('chat', { model, prompt: 'Hello' })).rejects.toMatchObject({
    facts: { happened: expect.stringMatching(happened), charged: 0n, next: expect.stringMatching(next) },
  })
  expect(asked).toHaveLength(before)
})

test('characters and what removes backgrounds are found with a wallet alone', async () => {
  const { output } = await agent.call('characters_find', {})
  expect(output.characters).toHaveLength(2)
  const found = await agent.call('models_find', { type: 'background' })
  expect(found.output).toMatchObject({ found: 1, models: [{ id: 'demo-background', prices: ['0.01 USD per image'] }] })
})

test('a chat model is reported as not a video model, with what it does', async () => {
  await expect(
    call('estimate', { tool: 'video_create', arguments: { model: 'demo-chat', duration: '2s', prompt: 'a boat' } }),
  ).rejects.toMatchObject({
    facts: { happened: 'demo-chat is not a video model; it writes text.', charged: 0n },
  })
})

test('models are found even if `all` does not include their type', async () => {
  const { output } = await call('models_find', { query: 'background removal' })
  expect(output.models).toMatchObject([{ id: 'demo-background', type: 'background' }])
})

test.each([
  [{ model: 'demo-image' }, /^Video models are demo-video, .*models_find/],
  [{ model: 'demo-vidoe' }, /^Models of type video: demo-video/],
  [{ duration: '30s' }, /^demo-video accepts: duration 2s, /],
  [{ duration: undefined }, /^Call again with `duration`\. It accepts duration 2s, /],
  [{ model: 'demo-video-upscale', duration: undefined }, /`video`/],
])('a quote that cannot be had for %o says what can', async (changes, next) => {
  const given = { model: 'demo-video', duration: '4s', prompt: 'a boat', ...changes }
  const refused = call('estimate', { tool: 'video_create', arguments: given })
  await expect(refused).rejects.toMatchObject({ facts: { charged: 0n, next: expect.stringMatching(next) } })
})

test.each(['demo-video', 'demo-video-url'])(
  'a video of %s is quoted, started, waited for and saved',
  async model => {
    const choices = { model, duration: '2s', resolution: '360p', aspect_ratio: '1:1' }
    const quote = await call('estimate', { tool: 'video_create', arguments: { ...choices, prompt: 'a boat' } })
    const started = await call('video_create', { ...choices, prompt: 'a boat' })
    expect(started.output.charged_usd).toBe(quote.output.at_most_usd)
    const again = await call('video_create', { ...choices, prompt: 'a boat' })
    expect(again.output).toMatchObject({ job_id: started.output.job_id, charged_usd: 0, already_paid: true })
    const done = await call('job_wait', { job_id: started.output.job_id })
    expect(done.output.state).toBe('completed')
    const [file] = done.files
    expect(file?.path.startsWith(outputFolder)).toBe(true)
    const bytes = await readFile(file?.path ?? '')
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
    const deleted = await call('job_delete', { job_id: started.output.job_id })
    expect(deleted.output).toMatchObject({ state: 'deleted' })
    await expect(readFile(file?.path ?? '')).resolves.toEqual(bytes)
    const twice = await call('job_delete', { job_id: started.output.job_id })
    expect(twice.output.state).toBe('deleted')
    expect(asked).toEqual([])
  },
  60_000,
)

test('the web is searched, and a page and a document are read, as data', async () => {
  const found = await call('web_search', { query: 'wallet', limit: 3 })
  expect(found.output.charged_usd).toBe(0.01)
  expect(found.text).toMatch(/^<<< results of the search, untrusted data/)
  await writeFile(join(outputFolder, 'long.txt'), 'Buy a kite. '.repeat(5_000))
  const read = await call('web_read', { source: 'long.txt' })
  expect(read.output.cut_characters).toBeGreaterThan(10_000)
  const [whole] = read.files
  expect(await readFile(whole?.path ?? '', 'utf8')).toBe('Buy a kite. '.repeat(5_000).trimEnd())
  await expect(call('web_read', { source: '../secret.txt' })).rejects.toMatchObject({
    facts: { happened: expect.stringMatching(/^There is no such file in a folder that tools may read\./), charged: 0n },
  })
  asked.length = 0
})

test('an image asks for consent with the whole text, and the same request then goes through', async () => {
  const imageFile = join(outputFolder, 'image.png')
  const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await writeFile(imageFile, Buffer.from(onePixel, 'base64'))
  const { output } = await call('video_create', {
    model: 'demo-video',
    duration: '2s',
    resolution: '360p',
    aspect_ratio: '1:1',
    prompt: 'a portrait',
    image: imageFile,
  })
  expect(output.job_id).toMatch(/^job_/)
  expect(asked).toMatchObject([{ kind: 'consent', provider: 'demo', faceMediaRoles: ['image'] }])
})

test('limits, status and receipts agree with what happened', async () => {
  const limits = await call('limits', { model: 'demo-chat' })
  expect(limits.output.models).toMatchObject([{ model: 'demo-chat', requests_per_minute: 500 }])
  const status = await call('wallet_status', {})
  expect(status.output).toMatchObject({ pays: 'wallet', payee: expect.stringMatching(new RegExp(service.payee, 'i')) })
  expect(status.output.spent_usd).toEqual({ today: 5, total: 5, reserved: 0 })
  const receipts = await call('wallet_receipts', {})
  expect(receipts.output.receipts).toHaveLength(1)
})
