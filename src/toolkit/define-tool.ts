import type { z } from 'zod'
import type { ModelType } from '#contract/operations/models.ts'
import type { PersonForm } from './person-form.ts'
import type { Shown } from './shown.ts'
import type { ToolContext } from './tool-context.ts'

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
  /** Arguments that the person fills in where they are not given and a client can ask; without one the call runs as it is. */
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
