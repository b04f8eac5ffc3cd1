export interface OutputSchema {
  type?: string | string[]
  properties?: Record<string, OutputSchema>
  items?: OutputSchema
  anyOf?: OutputSchema[]
  enum?: unknown[]
  const?: unknown
  [keyword: string]: unknown
}

/**
 * An output schema as any client can read it: one type a schema, because some model providers read no more. The bytes for
 * that are saved below: what stands within a member is named only for lists, and a fixed value needs no type.
 */
export function portableOutput({ properties = {}, ...schema }: OutputSchema): OutputSchema {
  return { ...schema, properties: mapped(properties, value => portableMember(value)) }
}

function portableMember(schema: OutputSchema): OutputSchema {
  const { type, ...rest } = schema
  if (Array.isArray(type)) return { ...rest, anyOf: type.map(each => ({ type: each })) }
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map(portableMember) }
  if (schema.enum || 'const' in schema) return rest
  if (type === 'array' && schema.items?.properties) return { ...schema, items: portableOutput(schema.items) }
  return type === 'object' ? { type } : schema
}

const mapped = (
  properties: Record<string, OutputSchema>,
  map: (schema: OutputSchema) => OutputSchema,
): Record<string, OutputSchema> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, map(schema)]))
