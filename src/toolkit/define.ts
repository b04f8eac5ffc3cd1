import type { z } from 'zod'
import type { ModelType } from '#contract/operations/models.ts'
import type { Shown, ToolContext } from './tool-context.ts'

/** Hints for clients; every tool sets all four. */
export interface ToolAnnotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

/** Tools that are chosen together: `farebox mcp --tools core,image`. */
export const toolSets = ['core', 'wallet', 'image', 'video', 'audio', 'web'] as const
export type ToolSet = (typeof toolSets)[number]

/** Views that clients with the MCP Apps extension show in place of a tool's text. */
export type AppName = 'media' | 'approval' | 'spending'

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  /** `noun_verb`; the file has the same name in kebab-case. */
  name: string
  set: ToolSet
  /** False if it is served only on request, because every listed tool costs a model's context. */
  isDefault?: boolean
  title: string
  description: string
  annotations: ToolAnnotations
  input: Input
  /** JSON only: money as USD numbers, times as ISO 8601. */
  output: Output
  /** Members of the request whose name differs from the argument's, such as `{ url: 'source' }`. */
  sentAs?: Readonly<Record<string, string>>
  /** The type of models that `model` may name; absent if none are listed, or there is no `model`. */
  modelType?: ModelType
  /** Arguments that the user fills in if they are missing and the client can ask; otherwise the call runs unchanged. */
  userFills?: UserForm
  run(context: ToolContext, input: z.output<Input>): Promise<z.input<Output>>
  /** The output in words for a reader: short sentences, with untrusted text marked by `fromOutside`. */
  say(output: z.output<Output>): string
  /** Files that a client may link to. */
  files?(output: z.output<Output>): { path: string; mimeType: string }[]
  /** Id of the job in which the call continues, for a client that can poll it; null if the call has ended. */
  goesOnAs?(output: z.output<Output>, input: z.output<Input>): string | null
  /** The view in which a client with the MCP Apps extension shows the results. */
  app?: AppName
  /** Media to show in addition to the text. */
  shows?(
    output: z.output<Output>,
    call: { context: ToolContext; input: z.output<Input> },
  ): readonly Shown[] | Promise<readonly Shown[]>
}

export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool<Input, Output> => tool

/**
 * Values that only the user knows. A decision about money or consent is an `ApprovalRequest` and never a form: the client's
 * form answer is not verified, and is only checked against the schema of the arguments that it fills.
 */
export interface UserForm {
  /** Identifies the form in the client's answer. */
  name: string
  message: string
  /** Each has the name of the argument that it fills. */
  fields: Readonly<Record<string, FormField>>
  required: readonly string[]
}

/** A field that clients can display in a form. The default is preselected. */
export type FormField = { title?: string; description?: string } & (
  | { type: 'string'; minLength?: number; maxLength?: number; default?: string }
  | { type: 'number' | 'integer'; minimum?: number; maximum?: number; default?: number }
  | { type: 'boolean'; default?: boolean }
  | { type: 'string'; enum: string[] /** For protocols before 2025-11. */; enumNames?: string[]; default?: string }
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

/** Whether `given` lacks what the form asks for. */
export const isNeeded = ({ required, fields }: UserForm, given: FormValues): boolean =>
  (required.length > 0 ? required : Object.keys(fields)).some(name => given[name] === undefined)

/** Returns the arguments with what the user filled in; anything that the form does not ask for is dropped. */
export const withFilled = (given: FormValues, { fields }: UserForm, filled: FormValues): FormValues => ({
  ...given,
  ...Object.fromEntries(
    Object.keys(fields).flatMap(name => (filled[name] === undefined ? [] : [[name, filled[name]]])),
  ),
})

export interface Prompt<Arguments extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  /** Tools that it uses; without them it is not offered. */
  needs: readonly string[]
  arguments: Arguments
  /** Values for completing an argument: a few fixed ones, or what the service has. */
  choices?: { readonly [Argument in keyof z.output<Arguments>]?: Choices }
  /** Returns the text that the user sends to the model. */
  write(values: z.output<Arguments>): string
  /** Media that come before the text. */
  shows?(values: z.output<Arguments>): Shown[]
}

export type Choices = readonly string[] | ((context: ToolContext) => Promise<readonly string[]>)

export const definePrompt = <Arguments extends z.ZodObject>(prompt: Prompt<Arguments>): Prompt<Arguments> => prompt

/**
 * Something that a client reads without calling a tool, chosen by the user or attached by the client. Free and
 * read-only.
 */
export interface Resource {
  /** The file's name. */
  name: string
  title: string
  description: string
  /** `farebox://models`; a template has one variable, `farebox://models/{id}`. */
  uri: string
  /** The template also reads addresses of this scheme, as in tools' links; such an address is its variable's value. */
  readsLinks?: 'file:'
  /** Absent for a template whose contents differ. */
  mimeType?: string
  /** Tools whose data it shows; empty if it shows any tool's. Without them it is not offered. */
  needs: readonly string[]
  /** How long a client may cache what it has read, in milliseconds. */
  keepMs: number
  /** For the client, as `_meta` beside the listing and the contents. */
  meta?: Readonly<Record<string, unknown>>
  /** Contents that are always the same: they are read without a wallet, in place of `read`. */
  constant?(): ResourceContent
  /** `value` is the template's variable, or empty. Null if there is nothing. */
  read(context: ToolContext, value: string): Promise<ResourceContent | null>
  /** Values for completing the variable. */
  choices?(context: ToolContext): Promise<readonly string[]>
}

/** Untrusted text in it is marked by `fromOutside`, as in tools. */
export type ResourceContent = { text: string } | { base64: string; mimeType: string }

export const defineResource = (resource: Resource): Resource => resource

/** The tools, prompts and resources by name; each is loaded when it is first needed. */
export interface Catalogue {
  tools: Readonly<Record<string, () => Promise<Tool>>>
  prompts: Readonly<Record<string, () => Promise<Prompt>>>
  resources: Readonly<Record<string, () => Promise<Resource>>>
}
