/** A schema as the API's description has it. */
export interface DescribedSchema {
  $ref?: string
  type?: string
  format?: string
  description?: string
  properties?: Readonly<Record<string, DescribedSchema>>
  required?: readonly string[]
  items?: DescribedSchema
  additionalProperties?: unknown
  enum?: readonly unknown[]
  anyOf?: readonly DescribedSchema[]
  oneOf?: readonly DescribedSchema[]
  allOf?: readonly DescribedSchema[]
  default?: unknown
  nullable?: boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean | number
  exclusiveMaximum?: boolean | number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}

/** One member of a body. */
export interface SchemaRow {
  /** The full path within the body, such as `messages[].content`. */
  name: string
  type: string
  isRequired: boolean
  /** The allowed values, and the default. */
  rules: string
}

/** Deeper members are only in `openapi.yaml`. */
const deepest = 4

/** Lists the members of an object, and of the objects in it. */
export function schemaRows(schema: DescribedSchema, find: (ref: string) => DescribedSchema): SchemaRow[] {
  const rows: SchemaRow[] = []
  const resolved = (of: DescribedSchema): DescribedSchema => (of.$ref === undefined ? of : resolved(find(of.$ref)))
  const alternatives = (of: DescribedSchema): readonly DescribedSchema[] => {
    const each = resolved(of)
    const parts = each.anyOf ?? each.oneOf ?? each.allOf
    return parts ? [each, ...parts.flatMap(alternatives)] : [each]
  }
  const walk = (of: DescribedSchema, prefix: string, depth: number) => {
    const all = alternatives(of)
    for (const { items } of all) if (items) walk(items, `${prefix}[]`, depth)
    const objects = all.filter(({ properties }) => properties !== undefined)
    const members = new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})))
    for (const member of members) {
      const name = prefix === '' ? member : `${prefix}.${member}`
      const inside = anyOfThese(objects.flatMap(({ properties }) => properties?.[member] ?? []))
      // A member that only some of the alternatives require is not required.
      const isRequired = objects.every(({ required }) => required?.includes(member))
      rows.push({ name, type: typeOf(inside, alternatives), isRequired, rules: rulesOf(alternatives(inside)) })
      if (depth < deepest) walk(inside, name, depth + 1)
    }
  }
  walk(schema, '', 1)
  return rows
}

function typeOf(schema: DescribedSchema, alternatives: (of: DescribedSchema) => readonly DescribedSchema[]): string {
  const all = alternatives(schema)
  const types = all.flatMap(({ type, format, items }) => {
    if (type === undefined) return []
    if (type === 'array' && items) return [`array of ${typeOf(items, alternatives)}`]
    return [format === 'binary' ? 'file' : type]
  })
  const isNullable = all.some(({ nullable }) => nullable === true)
  return [...new Set([...types, ...(isNullable ? ['null'] : [])])].join(' or ') || 'any'
}

/** Combines the alternatives of a member. */
const anyOfThese = (schemas: readonly DescribedSchema[]): DescribedSchema =>
  schemas.length === 1 && schemas[0] ? schemas[0] : { anyOf: schemas }

function rulesOf(alternatives: readonly DescribedSchema[]): string {
  const values = new Set(alternatives.flatMap(schema => schema.enum ?? []).map(value => JSON.stringify(value)))
  const rules = alternatives.flatMap(schema => [
    schema.description ?? '',
    range(schema.minimum, schema.maximum, '', schema.exclusiveMinimum === true),
    schema.minLength === 1 && schema.maxLength === undefined
      ? 'not empty'
      : range(schema.minLength, schema.maxLength, ' characters'),
    schema.minItems === 1 && schema.maxItems === undefined
      ? 'not empty'
      : range(schema.minItems, schema.maxItems, ' items'),
    schema.pattern && !schema.enum ? `matches ${schema.pattern}` : '',
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ])
  const said = values.size > 0 ? [`one of ${[...values].join(', ')}`, ...rules] : rules
  return [...new Set(said)].filter(rule => rule !== '').join('; ')
}

function range(least: number | undefined, most: number | undefined, unit: string, isAbove = false): string {
  const from = isAbove ? `above ${least}` : `at least ${least}`
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`
  if (most === undefined) return `${from}${unit}`
  return isAbove ? `${from}, at most ${most}${unit}` : `${least} to ${most}${unit}`
}
