import type { z } from 'zod'

export interface Prompt<Arguments extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  description: string
  arguments: Arguments
  /** The text that the person sends to the model. */
  write(values: z.output<Arguments>): string
}

export const definePrompt = <Arguments extends z.ZodObject>(prompt: Prompt<Arguments>): Prompt<Arguments> => prompt
