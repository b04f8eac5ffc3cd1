/** Words for the facts of JSON Schema that published requests are written in. */

export type Schema = Readonly<Record<string, unknown>>

export const text = { type: 'string' }
export const flag = { type: 'boolean' }
export const whole = { type: 'integer' }
export const number = { type: 'number' }
export const among = (...values: readonly unknown[]) => ({ enum: values })
export const between = (type: Schema, minimum: number, maximum: number) => ({ ...type, minimum, maximum })
export const atLeast = (type: Schema, minimum: number) => ({ ...type, minimum })
export const orNull = (schema: Schema) => ({ anyOf: [schema, { type: 'null' }] })
export const list = (items: Schema, bounds: Schema = {}) => ({ type: 'array', items, ...bounds })
export const mapOf = (additionalProperties: Schema) => ({ type: 'object', additionalProperties })
export const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
/** A text of so many characters. */
export const bounded = (minLength: number, maxLength: number) => ({ type: 'string', minLength, maxLength })
