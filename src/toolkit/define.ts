import type { z } from 'zod'
import type { ModelType } from '#contract/operations/models.ts'
import type { Shown, ToolContext } from './tool-context.ts'

/** Hints for clients; every tool states all four. */
export interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

/** Tools that are chosen together: `farebox mcp --tools core,image`. */
export const toolSets = ['core', 'wallet', 'image', 'video', 'audio', 'web'] as const
export type ToolSet = (typeof toolSets)[number]

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  /** `noun_verb`; the file is the same word in kebab-case. */
  name: string
  set: ToolSet
  /** False where it is served only to who asks for it by name, since every listed tool costs a model's context. */
  isDefault?: boolean
  title: string
  description: string
  annotations: ToolAnnotations
  input: Input
  /** JSON only: money as USD numbers, times as ISO 8601. */
  output: Output
  /** Where a request's member has another name than the argument that it is made of, `{ url: 'source' }`. */
  sentAs?: Readonly<Record<string, string>>
  /** The type of the models that `model` may name; absent where no type is listed for them, or there is no `model`. */
  modelType?: ModelType
  /** Arguments that the user fills in where they are not given and a client can ask; without one the call runs as it is. */
  personFills?: PersonForm
  run(context: ToolContext, input: z.output<Input>): Promise<z.input<Output>>
  /** The same for a reader: short sentences, text from outside marked by `fromOutside`. */
  say(output: z.output<Output>): string
  /** Files that a client may link to. */
  files?(output: z.output<Output>): { path: string; mimeType: string }[]
  /** The job as which the call goes on, for a client that can follow it by itself; null where it has ended. */
  goesOnAs?(output: z.output<Output>, input: z.output<Input>): string | null
  /** What is seen or heard beside the text. */
  shows?(
    output: z.output<Output>,
    call: { context: ToolContext; input: z.output<Input> },
  ): readonly Shown[] | Promise<readonly Shown[]>
}

export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> => tool

/**
 * Values that only the user knows. What the user decides, about money or consent, is a `Question` and never a form: a
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

/** As clients can draw it. The default is what the user sees first. */
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

/** The arguments with what the user filled in; what the form does not ask is left out. */
export const withFilled = (given: FormValues, { fields }: PersonForm, filled: FormValues): FormValues => ({
  ...given,
  ...Object.fromEntries(
    Object.keys(fields).flatMap(name => (filled[name] === undefined ? [] : [[name, filled[name]]])),
  ),
})

export interface Prompt<Arguments extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  /** Tools that it leads through; without them it is not offered. */
  needs: readonly string[]
  arguments: Arguments
  /** Values that an argument may have, for completion: a few fixed ones, or what the service has. */
  choices?: { readonly [Argument in keyof z.output<Arguments>]?: Choices }
  /** The text that the user sends to the model. */
  write(values: z.output<Arguments>): string
  /** What is seen or heard before the text. */
  shows?(values: z.output<Arguments>): Shown[]
}

export type Choices = readonly string[] | ((context: ToolContext) => Promise<readonly string[]>)

export const definePrompt = <Arguments extends z.ZodObject>(prompt: Prompt<Arguments>): Prompt<Arguments> => prompt

/** What a client reads without calling a tool, chosen by the user or attached by the client. Free, and changes nothing. */
export interface Resource {
  /** The file's name. */
  name: string
  title: string
  description: string
  /** `farebox://models`; a template has one variable, `farebox://models/{id}`. */
  uri: string
  /** A template that links of tools lead to reads addresses of this scheme too; such an address is its variable's value. */
  readsLinks?: 'file:'
  /** Of a template whose contents differ it is absent. */
  mimeType?: string
  /** Tools whose data it shows, none where it is any tool's; without them it is not offered. */
  needs: readonly string[]
  /** How long a client may keep what it has read, in milliseconds. */
  keepMs: number
  /** `value` stands for the template's variable, empty where there is none. Null where nothing is there. */
  read(context: ToolContext, value: string): Promise<ResourceContent | null>
  /** Values that the variable may have, for completion. */
  choices?(context: ToolContext): Promise<readonly string[]>
}

/** Texts of strangers stand in it as tools show them: marked by `fromOutside`. */
export type ResourceContent = { text: string } | { base64: string; mimeType: string }

export const defineResource = (resource: Resource): Resource => resource

/** Where tools, prompts and resources are, by name; each is loaded when it is first needed. */
export interface Catalogue {
  tools: Readonly<Record<string, () => Promise<Tool>>>
  prompts: Readonly<Record<string, () => Promise<Prompt>>>
  resources: Readonly<Record<string, () => Promise<Resource>>>
}
