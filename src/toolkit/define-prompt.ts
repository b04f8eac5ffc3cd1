import type { z } from 'zod'
import type { Shown } from './shown.ts'
import type { ToolContext } from './tool-context.ts'

export interface Prompt<Arguments extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  /** Tools that it leads through; without them it is not offered. */
  needs: readonly string[]
  arguments: Arguments
  /** Values that an argument may have, for whoever types one: a few fixed ones, or what the service has. */
  choices?: { readonly [Argument in keyof z.output<Arguments>]?: Choices }
  /** The text that the person sends to the model. */
  write(values: z.output<Arguments>): string
  /** What is seen or heard before the text. */
  shows?(values: z.output<Arguments>): Shown[]
}

export type Choices = readonly string[] | ((context: ToolContext) => Promise<readonly string[]>)

export const definePrompt = <Arguments extends z.ZodObject>(prompt: Prompt<Arguments>): Prompt<Arguments> => prompt
