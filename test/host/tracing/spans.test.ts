import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openTracing } from '#host/tracing/tracing.ts'
import { chunk, event, finish, type Upstream, upstream } from '../../engines/openai/upstream.ts'
import { configuredModels } from '../../service/config/configured-models.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const exporter = new InMemorySpanExporter()
const [callersTrace, callersSpan] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const prompt = 'words that belong to nobody but their caller'

let server: Upstream
let service: OpenedService
let key: string
beforeAll(async () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  await openTracing()
  server = await upstream(response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${event(chunk('hello'))}${event(finish)}data: [DONE]\n\n`)
  })
  service = await openService({
    models: () =>
      configuredModels(
        `
publicUrl: http://127.0.0.1:8402
models:
  - id: traced
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: openai, baseUrl: '${server.baseUrl}', apiKey: '\${KEY}' }]
`,
        { environment: { KEY: 'key-of-the-engine' } },
      ),
  })
  key = await service.key(1)
})
afterAll(async () => {
  await service.close()
  await server.close()
  trace.disable()
})
beforeEach(() => {
  exporter.reset()
  server.seen.length = 0
})

async function chat(headers: Record<string, string> = {}) {
  const response = await service.request('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model: 'traced', messages: [{ role: 'user', content: prompt }], stream: true }),
  })
  await response.text()
  const isOver = () => {
    const names = exporter.getFinishedSpans().map(({ name }) => name)
    return names.includes('createChatCompletion') && names.includes('capture')
  }
  await vi.waitFor(() => expect(isOver()).toBe(true), { timeout: 15_000 })
  return exporter.getFinishedSpans()
}

test('a paid call is a trace of its request, its hold, its engine, its capture and its commits, beneath the caller’s span', async () => {
  const spans = await chat({ traceparent: `00-${callersTrace}-${callersSpan}-01` })
  expect(new Set(spans.map(span => span.spanContext().traceId))).toEqual(new Set([callersTrace]))
  expect([...new Set(spans.map(({ name }) => name))].toSorted()).toEqual([
    'capture',
    'commit',
    'createChatCompletion',
    'engine',
    'hold',
  ])
  const request = spans.find(({ name }) => name === 'createChatCompletion')
  expect(request?.parentSpanContext?.spanId).toBe(callersSpan)
  expect(request?.attributes).toMatchObject({ 'http.response.status_code': 200 })
  const engine = spans.find(({ name }) => name === 'engine')
  expect(engine?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  expect(server.seen[0]?.headers.traceparent).toBe(`00-${callersTrace}-${engine?.spanContext().spanId}-01`)
  expect(service.ended.at(-1)).toMatchObject({ traceId: callersTrace })
})

test('the capture of a stream is within its trace, and a commit within it', async () => {
  const spans = await chat()
  const capture = spans.find(({ name }) => name === 'capture')
  const commits = spans.filter(({ name }) => name === 'commit')
  expect(commits.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toContain(capture?.spanContext().spanId)
})

test('without a caller’s trace there is one of our own, which the log and the upstream are told', async () => {
  const [span] = await chat()
  const { traceId } = span?.spanContext() ?? { traceId: '' }
  expect(traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(service.ended.at(-1)).toMatchObject({ traceId })
  expect(server.seen[0]?.headers.traceparent).toContain(traceId)
})

test('no span has a key or words of a caller in it', async () => {
  const told = JSON.stringify((await chat()).map(({ name, attributes, events }) => ({ name, attributes, events })))
  for (const secret of [prompt, key, 'key-of-the-engine']) expect(told).not.toContain(secret)
})

test('a caller who is refused leaves a span with the status, and nothing of what was thrown', async () => {
  const refused = await service.post(
    '/chat/completions',
    { model: 'nobody', messages: [{ role: 'user', content: prompt }] },
    key,
  )
  expect(refused.status).toBe(404)
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === 'createChatCompletion')
  expect(span?.attributes).toMatchObject({ 'http.response.status_code': 404 })
  expect(JSON.stringify([span?.attributes, span?.events, span?.status])).not.toContain('nobody')
})
