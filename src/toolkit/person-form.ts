/**
 * Values that only the person knows. What a person decides, about money or consent, is a `Question` and never a form: a
 * form's answer comes from the client as it is, and is checked by the schema of the arguments that it fills.
 */
export interface PersonForm {
  /** Names the form in the client's answer. */
  name: string
  message: string
  /** Each named as the argument that it fills. */
  fields: Readonly<Record<string, FormField>>
  required: readonly string[]
}

/** As clients can draw it. The default is what the person sees first. */
export type FormField = { title?: string; description?: string } & (
  | { type: 'string'; minLength?: number; maxLength?: number; default?: string }
  | { type: 'number' | 'integer'; minimum?: number; maximum?: number; default?: number }
  | { type: 'boolean'; default?: boolean }
  | { type: 'string'; enum: string[] /** Of protocols before 2025-11. */; enumNames?: string[]; default?: string }
  | { type: 'string'; oneOf: NamedChoice[]; default?: string }
  | (Several & { items: { type: 'string'; enum: string[] } })
  | (Several & { items: { anyOf: NamedChoice[] } })
)

interface NamedChoice {
  const: string
  title: string
}

interface Several {
  type: 'array'
  minItems?: number
  maxItems?: number
  default?: string[]
}

export type FormValues = Readonly<Record<string, unknown>>

/** Whether `given` lacks what the form is for. */
export const isNeeded = ({ required, fields }: PersonForm, given: FormValues): boolean =>
  (required.length > 0 ? required : Object.keys(fields)).some(name => given[name] === undefined)

/** The arguments with what the person filled in; what the form does not ask is left out. */
export const withFilled = (given: FormValues, { fields }: PersonForm, filled: FormValues): FormValues => ({
  ...given,
  ...Object.fromEntries(
    Object.keys(fields).flatMap(name => (filled[name] === undefined ? [] : [[name, filled[name]]])),
  ),
})
