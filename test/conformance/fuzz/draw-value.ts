import type { Seeded } from '../../faults/seeded.ts'

/** As much of JSON Schema as the descriptions of bodies use. */
export interface DrawnSchema {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly DrawnSchema[]
  oneOf?: readonly DrawnSchema[]
  allOf?: readonly DrawnSchema[]
  $ref?: string
  $defs?: Readonly<Record<string, DrawnSchema>>
  properties?: Readonly<Record<string, DrawnSchema>>
  required?: readonly string[]
  items?: DrawnSchema
  minItems?: number
  minimum?: number
  maximum?: number
  minLength?: number
}

export interface Draw {
  random: Seeded
  root: DrawnSchema
  /** Values that are known to be good, by the name of their member. */
  known: Readonly<Record<string, readonly unknown[]>>
}

const words = ['a red boat', 'x', 'Grüße aus Köln', '船', 'https://files.example/a.png', '5s', '1', 'demo', '# title']
const depthAtMost = 8

/** A value that the schema takes, as far as its types say. */
export function drawValue(draw: Draw, schema: DrawnSchema, name = '', depth = 0): unknown {
  const { random, root, known } = draw
  const goods = known[name]
  if (goods && !random.once(10)) return random.pick(goods)
  const at = (next: DrawnSchema, nextName = name) => drawValue(draw, next, nextName, depth + 1)
  if (depth > depthAtMost) return null
  if (schema.$ref) return at(root.$defs?.[schema.$ref.replace('#/$defs/', '')] ?? {})
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return at(random.pick(alternatives) ?? {})
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(each => at(each)))
  const type = typeof schema.type === 'string' ? schema.type : random.pick(schema.type ?? [])
  switch (type) {
    case 'object':
      return drawObject(draw, schema, depth)
    case 'array': {
      const count = Math.max(schema.minItems ?? 0, random.below(3))
      return Array.from({ length: Math.min(count, 5) }, () => at(schema.items ?? {}))
    }
    case 'integer':
    case 'number':
      return drawNumber(random, schema, type === 'integer')
    case 'boolean':
      return random.once(2)
    case 'null':
      return null
    default:
      return (random.pick(words) ?? '').padEnd(schema.minLength ?? 0, 'x')
  }
}

function drawObject(draw: Draw, { properties = {}, required = [] }: DrawnSchema, depth: number): object {
  const names = Object.keys(properties).filter(each => required.includes(each) || draw.random.once(4))
  return Object.fromEntries(
    names.map(each => [each, drawValue(draw, properties[each] ?? {}, each, depth + 1)] as const),
  )
}

function drawNumber(random: Seeded, { minimum = 0, maximum }: DrawnSchema, isWhole: boolean): number {
  const top = Math.min(maximum ?? minimum + 100, minimum + 1_000)
  const value = minimum + random.draw() * (top - minimum)
  return isWhole ? Math.floor(value) : value
}
