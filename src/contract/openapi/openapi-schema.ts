import { z } from 'zod'

/** A schema of OpenAPI 3.0. */
export type DescribedSchema = { [keyword: string]: unknown }

type Direction = 'input' | 'output'

/** Collects the named schemas of a description, each once. */
export class SchemaPrinter {
  readonly components = new Map<string, DescribedSchema>()

  /** A schema as it stands in the description: named ones as a reference. `input` is before defaults, `output` after. */
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

/** Turns what JSON Schema says in passing into what OpenAPI 3.0 readers understand. */
function tidy(schema: DescribedSchema): DescribedSchema {
  const tidied: DescribedSchema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (isAssumed(keyword, value)) continue
    tidied[keyword] = tidyKeyword(keyword, value)
  }
  return withNull(tidied)
}

/** Anything goes, every integer is a safe one, and a file is not encoded: said by silence. */
const isAssumed = (keyword: string, value: unknown): boolean =>
  (keyword === 'contentEncoding' && value === 'binary') ||
  (keyword === 'additionalProperties' && isRecord(value) && Object.keys(value).length === 0) ||
  (keyword === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
  (keyword === 'minimum' && value === Number.MIN_SAFE_INTEGER)

function tidyKeyword(keyword: string, value: unknown): unknown {
  if (keyword === '$ref') return String(value).replace('#/definitions/', '#/components/schemas/')
  if (keyword === 'properties' && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, tidy(member as DescribedSchema)]))
  }
  if (Array.isArray(value)) return value.map(item => (isRecord(item) ? tidy(item) : item))
  return isRecord(value) && keyword !== 'default' ? tidy(value) : value
}

/** `nullable` counts only beside a type, and an enum has to name null as well. */
function withNull({ nullable, ...schema }: DescribedSchema): DescribedSchema {
  if (nullable !== true) return schema
  if (Array.isArray(schema.enum)) return { ...schema, nullable, enum: [...new Set([...schema.enum, null])] }
  if ('type' in schema) return { ...schema, nullable }
  const keyword = 'anyOf' in schema ? 'anyOf' : 'oneOf'
  const [first, ...others] = schema[keyword] as DescribedSchema[]
  return { ...schema, [keyword]: [withNull({ ...first, nullable }), ...others] }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
