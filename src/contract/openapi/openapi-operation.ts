import { z } from 'zod'
import { answerHeaders } from '../operations/answer-headers.ts'
import {
  type AuthScheme,
  type BodyType,
  bodyTypesOf,
  describeBodyLimits,
  isIdempotent,
  isPaid,
  type Operation,
  readsKey,
} from '../operations/operation.ts'
import type { HeaderSchema } from '../wire/header-codec.ts'
import { idempotencyKey, wantReceipt } from '../wire/headers.ts'
import { isObject } from '../wire/json.ts'

/** Names of the security schemes in the API description (brief §5). */
export const securityNames: Record<AuthScheme, string> = { apiKey: 'BearerAuth', wallet: 'siwx' }

const json = 'application/json'

export function describeOperation(operation: Operation, printer: SchemaPrinter): Record<string, unknown> {
  const { id, tag, summary, request } = operation
  const parameters = [
    ...membersOf(request.params, 'path', printer),
    ...membersOf(request.query, 'query', printer),
    ...requestHeaders(operation),
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(operation.adminKey ? { description: 'Needs an ADMIN key; an INFERENCE key gets 401.' } : {}),
    // Tools ignore members that begin with x-, and readers see what is specific to farebox.
    ...(operation.isOwn ? { 'x-farebox-own': true } : {}),
    security: securityOf(operation),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(request.body ? { requestBody: describeBody(operation, request.body, printer) } : {}),
    responses: describeAnswers(operation, printer),
  }
}

/** An empty entry means that credentials are optional. */
function securityOf(operation: Operation): Record<string, string[]>[] {
  if (operation.auth.length === 0 && readsKey(operation)) return [{}, { [securityNames.apiKey]: [] }]
  return operation.auth.map(scheme => ({ [securityNames[scheme]]: [] }))
}

const mediaTypes: Record<BodyType, string> = { json, multipart: 'multipart/form-data' }

function describeBody(operation: Operation, body: z.ZodType, printer: SchemaPrinter) {
  const schema = printer.print(body, 'input')
  return {
    description: describeBodyLimits(operation),
    required: !operation.request.bodyOptional,
    content: Object.fromEntries(bodyTypesOf(operation).map(type => [mediaTypes[type], { schema }])),
  }
}

/** Lists each member of a path or query as its own parameter. */
function membersOf(schema: z.ZodObject | undefined, place: 'path' | 'query', printer: SchemaPrinter) {
  if (!schema) return []
  return Object.entries(schema.shape).map(([name, member]) => ({
    name,
    in: place,
    required: place === 'path' || !(member as z.ZodType).safeParse(undefined).success,
    schema: printer.print(member as z.ZodType, 'input'),
  }))
}

function requestHeaders(operation: Operation) {
  const own = (operation.request.headers ?? []).map(name => parameter(name, { type: 'string' }))
  return [
    ...own,
    ...(isIdempotent(operation) ? [parameter(idempotencyKey.name, idempotencyKey.schema)] : []),
    ...(isPaid(operation) ? [parameter(wantReceipt.name, wantReceipt.schema)] : []),
  ]
}

const parameter = (name: string, schema: HeaderSchema) => ({ name, in: 'header', required: false, schema })

function describeAnswers(operation: Operation, printer: SchemaPrinter): Record<string, unknown> {
  const failures = Object.entries(operation.failures).map(([status, schema]) => [
    status,
    describeAnswer(operation, Number(status), { [json]: { schema: printer.print(schema, 'output') } }),
  ])
  return {
    200: describeAnswer(operation, 200, successContent(operation, printer)),
    ...Object.fromEntries(failures),
  }
}

/** JSON, each event of a stream, or the bytes of a file. */
function successContent({ answer }: Operation, printer: SchemaPrinter): Record<string, { schema: DescribedSchema }> {
  const types = typeof answer.bytes === 'string' ? [answer.bytes] : (answer.bytes ?? [])
  return {
    ...(answer.json ? { [json]: { schema: printer.print(answer.json, 'output') } } : {}),
    ...(answer.events ? { 'text/event-stream': { schema: printer.print(answer.events, 'output') } } : {}),
    ...Object.fromEntries(types.map(type => [type, { schema: { type: 'string', format: 'binary' } }])),
  }
}

function describeAnswer(operation: Operation, status: number, content: Record<string, unknown>) {
  const headers = answerHeaders(operation, status).map(({ name }) => [name, { $ref: `#/components/headers/${name}` }])
  return { description: descriptionOf(operation, status), headers: Object.fromEntries(headers), content }
}

const statusWords: Readonly<Record<number, string>> = {
  400: 'The request is invalid; the answer names each field and its allowed values',
  401: 'The credentials are invalid',
  402: 'Credentials, credit or the payment are missing',
  403: 'The caller may not do this',
  404: 'Not found',
  409: 'The user must consent first (the answer contains the policy), or a request with the same Idempotency-Key is in flight',
  410: 'The resource no longer exists',
  413: 'The body is too large',
  415: 'The content type is not accepted',
  422: 'The service or the engine does not allow the content, or the Idempotency-Key was used with another request',
  429: 'Too many requests; x-ratelimit-reset-requests shows when to retry',
  500: 'The service failed; retry with exponential backoff',
  503: 'Not available now; retry with exponential backoff',
  504: 'The request took too long',
}

function descriptionOf({ answer }: Operation, status: number): string {
  if (status !== 200) return statusWords[status] ?? 'The request was refused'
  if (answer.events) return 'Done. In a stream, each event is one such chunk, and the last is `data: [DONE]`'
  return typeof answer.bytes === 'string' ? 'The progress, or the finished file' : 'Done'
}

/** A schema of OpenAPI 3.0. */
type DescribedSchema = { [keyword: string]: unknown }

type Direction = 'input' | 'output'

/** Collects the named schemas of a description, each once. */
export class SchemaPrinter {
  readonly components = new Map<string, DescribedSchema>()

  /** Prints a schema, named ones as a reference. `input` is before defaults, `output` after. */
  print(schema: z.ZodType, direction: Direction): DescribedSchema {
    const { definitions = {}, ...root } = z.toJSONSchema(schema, {
      target: 'openapi-3.0',
      io: direction,
    }) as DescribedSchema & { definitions?: Record<string, DescribedSchema> }
    for (const [id, definition] of Object.entries(definitions)) this.#define(id, tidy(definition))
    return tidy(root)
  }

  #define(id: string, schema: DescribedSchema): void {
    const known = this.components.get(id)
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`Two different schemas are called ${id}.`)
    }
    this.components.set(id, schema)
  }
}

/** Rewrites JSON Schema for readers of OpenAPI 3.0. */
function tidy(schema: DescribedSchema): DescribedSchema {
  const tidied: DescribedSchema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (isAssumed(keyword, value)) continue
    tidied[keyword] = tidyKeyword(keyword, value)
  }
  return withNull(tidied)
}

/** Keywords that readers assume anyway: no constraint, safe integers, files that are not encoded. */
const isAssumed = (keyword: string, value: unknown): boolean =>
  (keyword === 'contentEncoding' && value === 'binary') ||
  (keyword === 'additionalProperties' && isObject(value) && Object.keys(value).length === 0) ||
  (keyword === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (keyword === 'minimum' && value === Number.MIN_SAFE_INTEGER)

function tidyKeyword(keyword: string, value: unknown): unknown {
  if (keyword === '$ref') return String(value).replace('#/definitions/', '#/components/schemas/')
  if (keyword === 'properties' && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, tidy(member as DescribedSchema)]))
  }
  if (Array.isArray(value)) return value.map(item => (isObject(item) ? tidy(item) : item))
  return isObject(value) && keyword !== 'default' ? tidy(value) : value
}

/** `nullable` counts only next to a type, and an enum must also contain null. */
function withNull({ nullable, ...schema }: DescribedSchema): DescribedSchema {
  if (nullable !== true) return schema
  if (Array.isArray(schema.enum)) return { ...schema, nullable, enum: [...new Set([...schema.enum, null])] }
  if ('type' in schema) return { ...schema, nullable }
  const keyword = 'anyOf' in schema ? 'anyOf' : 'oneOf'
  const [first, ...others] = schema[keyword] as DescribedSchema[]
  return { ...schema, [keyword]: [withNull({ ...first, nullable }), ...others] }
}
