import { answerHeaders, type DescribedHeader } from '../operations/answer-headers.ts'
import type { Operation } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { apiVersion } from '../wire/base-url.ts'
import { defaultVendor } from '../wire/vendor.ts'
import { describeOperation, SchemaPrinter, securityNames } from './openapi-operation.ts'

export interface DescribeOptions {
  /** Base URL with its version prefix (brief, preamble). */
  serverUrl: string
  /** Shape `YYYYMMDD.HHMMSS`. */
  version?: string
  /** The vendor word in this service's headers and members (see `vendor.ts`). */
  vendor?: string
}

/**
 * Options for printing the description as YAML: equal parts are repeated, because some readers don't support anchors,
 * and texts are quoted by the rules of YAML 1.1, where a bare `16:9` is a number and `on` is true.
 */
export const yamlOptions = { aliasDuplicateObjects: false, version: '1.1', lineWidth: 120 } as const

/** Describes the API in OpenAPI 3.0, as plain data (brief §9.5). The same options give the same value. */
export function describeApi(options: DescribeOptions): Record<string, unknown> {
  const { serverUrl, version = apiVersion, vendor = defaultVendor } = options
  const description = describe(serverUrl, version)
  return vendor === defaultVendor ? description : inWordsOf(vendor, description)
}

/** Renames only header names and the two members that carry the vendor word. */
const inWordsOf = (vendor: string, description: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(description).replace(
      /"(#[^"]*\/)?(x-service-[a-z-]+|service_parameters|include_service_system_prompt)"/g,
      name => name.replace(defaultVendor, vendor),
    ),
  )

function describe(serverUrl: string, version: string): Record<string, unknown> {
  const printer = new SchemaPrinter()
  const paths: Record<string, Record<string, unknown>> = {}
  const add = (path: string, operation: Operation) => {
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation, printer) }
  }
  for (const operation of operations as readonly Operation[]) {
    add(operation.path, operation)
    if (operation.aliasPath) add(operation.aliasPath, asAlias(operation))
  }
  const responses = shareResponses(paths)
  return {
    openapi: '3.0.3',
    info: {
      title: 'Inference API',
      version,
      description: introduction,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: serverUrl }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map(name => ({ name, description: tagDescriptions[name] })),
    paths,
    components: {
      securitySchemes,
      responses,
      headers: headerComponents(),
      schemas: Object.fromEntries([...printer.components].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

interface DescribedOperation {
  responses: Record<string, unknown>
}

/**
 * Most operations fail in the same ways, so an error answer that several operations give becomes a component to which
 * they refer.
 */
function shareResponses(paths: Record<string, Record<string, unknown>>): Record<string, unknown> {
  const operations = Object.values(paths).flatMap(path => Object.values(path) as DescribedOperation[])
  const uses = new Map<string, number>()
  for (const { responses } of operations)
    for (const text of failuresOf(responses).map(([, answer]) => JSON.stringify(answer)))
      uses.set(text, (uses.get(text) ?? 0) + 1)
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const shared: Record<string, unknown> = {}
  for (const { responses } of operations) {
    for (const [status, answer] of failuresOf(responses)) {
      const text = JSON.stringify(answer)
      if (uses.get(text) === 1) continue
      const nth = (counts.get(status) ?? 0) + 1
      const name = names.get(text) ?? `${failureNames[status] ?? 'Failure'}${nth === 1 ? '' : nth}`
      if (!names.has(text)) {
        counts.set(status, nth)
        names.set(text, name)
        shared[name] = answer
      }
      responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  return shared
}

const failuresOf = (responses: Record<string, unknown>): [status: string, answer: unknown][] =>
  Object.entries(responses).filter(([status]) => status !== '200')

const failureNames: Readonly<Record<string, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  413: 'BodyTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Unprocessable',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
  504: 'Timeout',
}

/** Ids are unique in a description, so an operation's second path gets its own. */
const asAlias = (operation: Operation): Operation => ({
  ...operation,
  id: `${operation.id}Alias`,
  summary: `${operation.summary} (the same as ${operation.path})`,
})

const tagDescriptions: Record<(typeof operations)[number]['tag'], string> = {
  Models: 'Models with allowed values and prices.',
  Chat: 'Conversations, compatible with OpenAI clients.',
  Responses: 'Conversations in the format of the OpenAI Responses API.',
  Characters: 'Personas for chats, defined by the operator.',
  Embeddings: 'Turn texts into vectors.',
  Image: 'Make, edit and upscale images, and remove backgrounds.',
  Augment: 'Search the web, read pages and parse documents.',
  Audio: 'Speech, transcription, voices and music.',
  Video: 'Quote, queue and download videos, and transcribe them.',
  'Crypto RPC': 'Calls to blockchain nodes.',
  x402: 'Top up prepaid credit with USDC, and see balance and transactions.',
  'API Keys': 'Manage API keys and see their limits.',
  Billing: 'Balance and usage of an account.',
  farebox: 'Signed receipts, which farebox adds to this API.',
}

const introduction = [
  'Metered inference for AI applications, paid from prepaid credit, with an API key or a crypto wallet that',
  'tops up with USDC over x402 and signs in. The chat operation is compatible with OpenAI clients.',
  'Paid calls accept an Idempotency-Key: a request with the same key is run and charged once, and a',
  'repeat within 24 hours gets the first answer, byte for byte.',
  'Requests may contain members that are not described here; they are not validated, and may be passed on.',
].join(' ')

const securitySchemes = {
  [securityNames.apiKey]: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  [securityNames.wallet]: {
    type: 'apiKey',
    in: 'header',
    name: 'SIGN-IN-WITH-X',
    description: 'Base64 of a signed wallet sign-in: an EIP-4361 message on EVM chains, its Ed25519 form on Solana.',
  },
}

/** Returns every header that some answer names. */
function headerComponents(): Record<string, unknown> {
  const found = new Map<string, DescribedHeader>()
  for (const operation of operations as readonly Operation[]) {
    for (const status of [200, ...Object.keys(operation.failures).map(Number)]) {
      for (const header of answerHeaders(operation, status)) found.set(header.name, header)
    }
  }
  const described = [...found.values()].map(({ name, when, schema }) => [
    name,
    { description: `Sent: ${when}`, schema },
  ])
  return Object.fromEntries(described)
}
