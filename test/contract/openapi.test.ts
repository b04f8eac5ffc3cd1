import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { describeApi, yamlOptions } from '#contract/openapi/openapi.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { apiVersion } from '#contract/wire/base-url.ts'

type Json = Record<string, unknown>

const serverUrl = 'https://api.example.com/api/v1'
const description = describeApi({ serverUrl }) as Json & {
  paths: Record<string, Record<string, Json & { responses: Record<string, Json> }>>
  components: { schemas: Json; headers: Json; responses: Record<string, Json> }
}
const table = operations as readonly Operation[]

test('the description is valid OpenAPI 3.0', async () => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(description))).toEqual({ valid: true })
  expect(validator.version).toBe('3.0')
})

test('a linter finds no error in it', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: stringify(description, yamlOptions), config })
  const errors = problems.filter(({ severity }) => severity === 'error')
  expect(errors.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
})

test('the validator finds what is wrong', async () => {
  const broken = structuredClone(description)
  broken.components.schemas.StandardError = { type: ['object', 'null'] }
  expect((await new Validator().validate(broken)).valid).toBe(false)
})

test('printed as YAML it reads the same by the rules of 1.1 and 1.2', () => {
  const text = stringify(description, yamlOptions)
  expect(parse(text, { version: '1.1' })).toEqual(description)
  expect(parse(text, { version: '1.2' })).toEqual(description)
  expect(text).not.toMatch(/^\s*[^"'\n]*: [&*]\w+$/m)
})

const securityOf = ({ auth, charge }: Operation) =>
  auth.length === 0 && charge === 'free'
    ? [{}, { BearerAuth: [] }]
    : auth.map(scheme => ({ [{ apiKey: 'BearerAuth', wallet: 'siwx' }[scheme]]: [] }))

test.each(table.map(operation => [operation.id, operation] as const))(
  '%s is described as it is written',
  (_, operation) => {
    const described = description.paths[operation.path]?.[operation.method.toLowerCase()]
    expect(described).toMatchObject({
      operationId: operation.id,
      tags: [operation.tag],
      security: securityOf(operation),
    })
    expect(Object.keys(described?.responses ?? {})).toEqual(['200', ...Object.keys(operation.failures)])
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true }))
    expect(described?.parameters ?? []).toEqual(
      expect.arrayContaining(names.map(each => expect.objectContaining(each))),
    )
  },
)

/** An answer itself, or the component that it refers to. */
const whole = (answer: Json = {}): Json =>
  typeof answer.$ref === 'string'
    ? (description.components.responses[answer.$ref.split('/').at(-1) ?? ''] ?? {})
    : answer

const answerOf = (path: string, method: string, status: string): Json =>
  whole(description.paths[path]?.[method]?.responses[status])

test('an alias answers the same, under an id of its own (contract differences: log of limits)', () => {
  const named = description.paths['/api_keys/rate_limit_logs']?.get
  const alias = description.paths['/api_keys/rate_limits/log']?.get
  expect(alias).toEqual({ ...named, operationId: expect.any(String), summary: expect.any(String) })
  const ids = Object.values(description.paths).flatMap(path => Object.values(path).map(each => each.operationId))
  expect(new Set(ids).size).toBe(ids.length)
})

test.each([
  ['/chat/completions', 'At most 10 MiB. JSON may have 50,000 values (members and items at all levels) and 64 levels.'],
  ['/embeddings', 'At most 10 MiB. JSON may have 320,000 values (members and items at all levels) and 64 levels.'],
  ['/video/queue', 'At most 35 MiB. JSON may have 50,000 values (members and items at all levels) and 64 levels.'],
  ['/api_keys', 'At most 64 KiB. JSON may have 50,000 values (members and items at all levels) and 64 levels.'],
  ['/audio/transcriptions', 'At most 35 MiB.'],
])('the body of %s has its limits', (path, limits) => {
  expect(description.paths[path]?.post?.requestBody).toMatchObject({ description: limits })
})

test('streams, bytes, optional bodies and payments stand where the brief has them', () => {
  expect(answerOf('/chat/completions', 'post', '200').content).toEqual({
    'application/json': { schema: { $ref: '#/components/schemas/ChatCompletion' } },
    'text/event-stream': { schema: { $ref: '#/components/schemas/ChatCompletionChunk' } },
  })
  expect(answerOf('/video/retrieve', 'post', '200').content).toHaveProperty(['video/mp4'], {
    schema: { type: 'string', format: 'binary' },
  })
  expect(description.paths['/x402/top-up']?.post).toMatchObject({
    security: [],
    requestBody: { required: false },
    parameters: ['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-PAYMENT'].map(name => ({
      name,
      in: 'header',
      required: false,
    })),
  })
  expect(answerOf('/x402/top-up', 'post', '200').headers).toHaveProperty(['payment-response'])
})

test('every 402 carries PAYMENT-REQUIRED, every 429 the time to try again in a moment', () => {
  for (const path of Object.values(description.paths)) {
    for (const { responses } of Object.values(path)) {
      if ('402' in responses) expect(whole(responses['402']).headers).toHaveProperty(['payment-required'])
      expect(whole(responses['429']).headers).toHaveProperty(['retry-after'])
    }
  }
})

test('the version is that of the header, the server the one that is asked for', () => {
  expect(description).toMatchObject({ openapi: '3.0.3', info: { version: apiVersion }, servers: [{ url: serverUrl }] })
  expect(apiVersion).toMatch(/^20\d{6}\.\d{6}$/)
})

test('every reference leads somewhere, and every component is referred to', () => {
  const referred = new Set(collect(description, '$ref').map(String))
  const present = (['schemas', 'headers', 'responses'] as const).flatMap(kind =>
    Object.keys(description.components[kind]).map(name => `#/components/${kind}/${name}`),
  )
  expect([...referred].sort()).toEqual(present.sort())
})

test('null is said the way of 3.0: `nullable` beside a type, no type null, no list of types', () => {
  const nullable = holders(description, 'nullable')
  expect(nullable.length).toBeGreaterThan(10)
  for (const schema of nullable) expect(schema).toHaveProperty('type')
  const choices = nullable.filter(schema => 'enum' in schema)
  expect(choices.length).toBeGreaterThan(0)
  for (const choice of choices) expect(choice.enum).toContain(null)
  for (const type of collect(description, 'type')) expect(type).not.toBe('null')
  for (const keyword of ['const', 'examples', 'prefixItems', '$schema', 'propertyNames']) {
    expect(collect(description.components.schemas, keyword)).toEqual([])
  }
})

function holders(value: unknown, keyword: string): Json[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(each => holders(each, keyword))
  return keyword in value ? [value as Json, ...inner] : inner
}

const collect = (value: unknown, keyword: string): unknown[] => holders(value, keyword).map(holder => holder[keyword])
