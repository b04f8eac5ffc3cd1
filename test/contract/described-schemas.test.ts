import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeApi } from '#contract/openapi/openapi.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { VideoQueueRequest, VideoQuoteRequest } from '#contract/operations/video.ts'
import { agreed } from '../agreed.ts'
import { publishedAnswers } from './published-answers.ts'

/** The description is read back: a client that validates with it must reach the same verdict as we do. */

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

const { schemas } = describeApi({ serverUrl: 'https://api.example.com/api/v1' }).components as { schemas: object }
const definitions = JSON.parse(JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/definitions/'))

const described = (schema: z.ZodType): z.ZodType => {
  const id = String(schema.meta()?.id)
  expect(definitions).toHaveProperty([id])
  const root = { $ref: `#/definitions/${id}`, definitions } as JsonSchema
  return z.fromJSONSchema(root, { defaultTarget: 'openapi-3.0' })
}

const named = publishedAnswers.filter(([, schema]) => Object.hasOwn(definitions, String(schema.meta()?.id)))

test('most of the published answers have a name in the description', () => {
  expect(named.length).toBeGreaterThan(20)
})

/** One member anywhere is put away or changed. */
const change = fc.tuple(fc.array(fc.nat(20), { maxLength: 6 }), fc.oneof(fc.constant(undefined), fc.jsonValue()))

function changed(value: unknown, path: readonly number[], put: unknown): unknown {
  if (typeof value !== 'object' || value === null) return put
  const names = Object.keys(value)
  const name = names[(path[0] ?? 0) % (names.length || 1)]
  if (name === undefined) return put
  const copy = structuredClone(value) as Record<string, unknown>
  copy[name] = path.length > 1 ? changed(copy[name], path.slice(1), put) : put
  return JSON.parse(JSON.stringify(copy))
}

test.each(named)('%s, whole and damaged', (_, schema, answer) => {
  const reader = described(schema)
  expect(reader.safeParse(answer).success).toBe(true)
  fc.assert(
    fc.property(change, ([path, put]) => {
      const damaged = changed(answer, path, put)
      expect(reader.safeParse(damaged).success).toBe(schema.safeParse(damaged).success)
    }),
  )
})

const url = 'https://files.example/a.png'
const requests: [string, z.ZodType, object][] = [
  [
    'queue',
    VideoQueueRequest,
    {
      model: 'm',
      prompt: 'p',
      duration: '5s',
      aspect_ratio: '16:9',
      upscale_factor: 2,
      audio: true,
      image_url: url,
      reference_image_urls: [url],
      elements: [{ frontal_image_url: url }],
      consents: { p: agreed },
    },
  ],
  ['quote', VideoQuoteRequest, { model: 'm', duration: 'Auto', resolution: '4k', video_url: url }],
  [
    'chat',
    ChatCompletionRequest,
    {
      model: 'm',
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'x' }] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url } }], name: null },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', content: 'x', tool_call_id: 'c' },
      ],
      temperature: 0.5,
      stop: ['x'],
      n: null,
      response_format: { type: 'json_object' },
      service_parameters: { enable_web_search: 'auto' },
    },
  ],
]

const betweenMembers = 'must have `content` or `tool_calls`'

test.each(requests)('a request to %s, whole and damaged', (_, schema, request) => {
  const reader = described(schema)
  expect(schema.safeParse(request).success).toBe(true)
  expect(reader.safeParse(request).success).toBe(true)
  fc.assert(
    fc.property(change, ([path, put]) => {
      const damaged = changed(request, path, put)
      const read = schema.safeParse(damaged)
      // One of two members has to be there, which is said in words and not in the description.
      fc.pre(!JSON.stringify(read.error?.issues ?? []).includes(betweenMembers))
      expect(reader.safeParse(damaged).success).toBe(read.success)
    }),
    { numRuns: 300 },
  )
})
