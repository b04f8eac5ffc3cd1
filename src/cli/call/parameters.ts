/** The parts of a JSON Schema that a table of parameters shows. */
interface Shape {
  type?: string | readonly string[]
  description?: string
  default?: unknown
  enum?: readonly unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  properties?: Readonly<Record<string, Shape>>
  required?: readonly string[]
  items?: Shape
}

/** The column headings of `parameterRows`. */
export const parameterHead = ['Name', 'Type', 'Required', 'Default', 'Allowed', 'Description'] as const

/** One row for each parameter; members of an object or a list follow it, such as `history[].role`. */
export function parameterRows(schema: object, before = ''): string[][] {
  const { properties = {}, required = [] } = schema as Shape
  return Object.entries(properties).flatMap(([key, shape]) => {
    const name = `${before}${key}`
    const row = [
      name,
      typeOf(shape),
      required.includes(key) ? 'required' : '',
      shape.default === undefined ? '' : JSON.stringify(shape.default),
      allowed(shape),
      shape.description ?? '',
    ]
    return [row, ...parameterRows(shape, `${name}.`), ...parameterRows(shape.items ?? {}, `${name}[].`)]
  })
}

function typeOf({ type = 'any', items }: Shape): string {
  const types = typeof type === 'string' ? [type] : type
  return types.map(each => (each === 'array' ? `list of ${typeOf(items ?? {})}` : each)).join(' or ')
}

const allowed = ({ items, ...shape }: Shape): string =>
  [
    shape.enum?.map(value => (typeof value === 'string' ? value : JSON.stringify(value))).join(', '),
    range(shape.minimum, shape.maximum, ''),
    range(shape.minLength, shape.maxLength, ' characters'),
    range(shape.minItems, shape.maxItems, ' items'),
    items?.enum?.join(', '),
  ]
    .filter(Boolean)
    .join('; ')

/** JSON Schema writes an integer without a bound as one within the safe integers. */
function range(least: number | undefined, most: number | undefined, unit: string): string {
  const [from, to] = [least, most].map(bound =>
    Number.isSafeInteger(bound) && Math.abs(bound ?? 0) === Number.MAX_SAFE_INTEGER ? undefined : bound,
  )
  if (from === undefined) return to === undefined ? '' : `up to ${to}${unit}`
  return to === undefined ? `${from}${unit} or more` : `${from} to ${to}${unit}`
}
