import fc from 'fast-check'
import { z } from 'zod'
import type { Tool } from '#toolkit/define.ts'

interface JsonSchema {
  type?: string
  enum?: unknown[]
  const?: unknown
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** Arbitraries for members whose values must exist: ids and sources. */
export type Known = Readonly<Record<string, fc.Arbitrary<unknown>>>

/**
 * Inputs that a tool takes, from its own schema: with nothing but what it requires, with everything, and any between.
 * Members of `always` are never left out.
 */
export function inputsOf(tool: Tool, known: Known, always: readonly string[] = []) {
  // What a call is checked against: the listing shows less of it.
  const { properties = {} } = z.toJSONSchema(tool.input, { io: 'output' }) as JsonSchema
  const { required: wanted = [] } = z.toJSONSchema(tool.input, { io: 'input' }) as JsonSchema
  const required = [...wanted, ...always.filter(name => name in properties)]
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, known[name] ?? arbitraryOf(schema)]),
  )
  const least = Object.fromEntries(Object.entries(members).filter(([name]) => required.includes(name)))
  return fc.oneof(fc.record(least), fc.record(members), fc.record(members, { requiredKeys: required }))
}

function arbitraryOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const { minimum, maximum } = schema
  switch (schema.type) {
    case 'string':
      return textOf(schema)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: minimum ?? 0, max: Math.min(maximum ?? 1e9, 1e9) })
    case 'number':
      return fc.double({ min: minimum ?? -1e9, max: maximum ?? 1e9, noNaN: true })
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), { maxLength: schema.maxItems ?? 5 })
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, arbitraryOf(each)])),
        { requiredKeys: schema.required ?? [] },
      )
    default:
      throw new Error(`No arbitrary for ${JSON.stringify(schema)}.`)
  }
}

/** Short ones of characters of all planes, and the longest that there may be. */
function textOf({ minLength = 0, maxLength }: JsonSchema): fc.Arbitrary<string> {
  const some = fc.string({ minLength, maxLength: 40, unit: 'grapheme' })
  return maxLength === undefined ? some : fc.oneof(some, fc.constant('x'.repeat(maxLength)))
}
