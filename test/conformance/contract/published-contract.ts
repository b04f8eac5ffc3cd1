import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'

/** What a public service of this contract answers, as JSON Schema: facts of its description, apart from our own schemas. */
export interface PublishedOperation {
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  /** Media types of its body; none where it takes none. */
  accepts: readonly string[]
  answers: Readonly<Record<string, PublishedAnswer>>
}

export interface PublishedAnswer {
  json?: Schema
  /** Names of shapes that operations share, one of which it has. */
  shapes?: readonly string[]
  /** Media types beside JSON. */
  otherTypes?: readonly string[]
  headers?: readonly string[]
}

type Schema = Parameters<typeof z.fromJSONSchema>[0]

const folder = new URL('./published/', import.meta.url)
const read = (name: string) => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))

const sharedShapes: Readonly<Record<string, Schema>> = read('errors.json')

/** All operations, in the order in which they are published. */
export const publishedOperations: readonly PublishedOperation[] = readdirSync(folder)
  .filter(name => name !== 'errors.json')
  .flatMap(name => read(name) as PublishedOperation[])

/** How a JSON answer leaves what is published, a line a fault; empty where it fits. */
export function faultsOf({ json, shapes = [] }: PublishedAnswer, value: unknown): string[] {
  const schemas = json === undefined ? shapes.map(name => sharedShapes[name] as Schema) : [json]
  if (schemas.length === 0) return []
  const faults = schemas.map(schema => problemsOf(schema, value))
  return faults.some(each => each.length === 0) ? [] : (faults.at(0) ?? [])
}

const checkers = new Map<unknown, z.ZodType>()

function problemsOf(schema: Schema, value: unknown): string[] {
  const checker = checkers.get(schema) ?? z.fromJSONSchema(schema, { defaultTarget: 'openapi-3.0' })
  checkers.set(schema, checker)
  const issues = checker.safeParse(value).error?.issues ?? []
  return issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
}
