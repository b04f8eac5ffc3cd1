import type { Schema } from './published-schema.ts'

/**
 * What a public service of this contract publishes of its requests, as facts of JSON Schema: names, types, bounds. Written
 * by hand and apart from our own schemas, so that both cannot be wrong together. An object here takes no other members.
 */
export interface PublishedRequest {
  method: 'GET' | 'POST'
  path: string
  /** Schemas of the parts of the path in braces. */
  params?: Readonly<Record<string, Schema>>
  query?: Readonly<Record<string, Schema>>
  /** Names of the headers that carry a credential; none for operations without credentials. */
  credentials: readonly string[]
  /** Other headers that the operation reads. */
  headers?: readonly string[]
  body?: Schema
  /** Of a body that comes as a form: its members; files are texts here. */
  form?: Schema
}
