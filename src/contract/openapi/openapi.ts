import { answerHeaders, type DescribedHeader } from '../operations/answer-headers.ts'
import type { Operation } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { apiVersion } from '../wire/base-url.ts'
import { defaultVendor } from '../wire/vendor.ts'
import { describeOperation, securityNames } from './openapi-operation.ts'
import { SchemaPrinter } from './openapi-schema.ts'

export interface DescribeOptions {
  /** Base URL with its version prefix (brief, preamble). */
  serverUrl: string
  /** Shape `YYYYMMDD.HHMMSS`. */
  version?: string
  /** The word of this service's wire (see `vendor.ts`). */
  vendor?: string
}

/**
 * How a YAML library prints the description: equal parts written out, since readers exist that know no anchors, and
 * quoted by the rules of YAML 1.1, where a bare `16:9` is a number and `on` is true.
 */
export const yamlOptions = { aliasDuplicateObjects: false, version: '1.1', lineWidth: 120 } as const

/** The description of the API, OpenAPI 3.0 as plain data (brief §9.5). The same options give the same value. */
export function describeApi(options: DescribeOptions): Record<string, unknown> {
  const { serverUrl, version = apiVersion, vendor = defaultVendor } = options
  const description = describe(serverUrl, version)
  return vendor === defaultVendor ? description : inWordsOf(vendor, description)
}

/** Names only: header names, and the two members that carry the word. */
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
  return {
    openapi: '3.0.3',
    info: { title: 'Inference API', version, description: introduction, license: { name: 'MIT' } },
    servers: [{ url: serverUrl }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map(name => ({ name })),
    paths,
    components: {
      securitySchemes,
      headers: headerComponents(),
      schemas: Object.fromEntries([...printer.components].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

/** Ids are unique in a description, so the second path of an operation has one of its own. */
const asAlias = (operation: Operation): Operation => ({
  ...operation,
  id: `${operation.id}Alias`,
  summary: `${operation.summary} (the same as ${operation.path})`,
})

const introduction = [
  'Inference for AI applications, metered and paid from prepaid credit: by an API key, or by a crypto wallet that',
  'tops up with USDC over x402 and signs in. The chat operation is compatible with OpenAI clients.',
  'Calls that cost take an Idempotency-Key: the same key with the same request is worked on and charged once, and a',
  'repeat is given the first answer byte for byte, for 24 hours.',
  'Members of a request that are not described here may be sent; they may be passed on and are not checked.',
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

/** Every header that some answer names. */
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
