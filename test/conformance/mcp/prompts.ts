import { z } from 'zod'
import { definePrompt, type Prompt } from '#toolkit/define.ts'
import { pixelPng } from './resources.ts'

const common = { description: 'What the suite expects.', needs: [] }

export const prompts: readonly Prompt[] = [
  definePrompt({
    ...common,
    name: 'test_simple_prompt',
    title: 'Simple',
    arguments: z.strictObject({}),
    write: () => 'This is a simple prompt for testing.',
  }),
  definePrompt({
    ...common,
    name: 'test_prompt_with_arguments',
    title: 'With arguments',
    arguments: z.strictObject({ arg1: z.string(), arg2: z.string() }),
    choices: { arg1: ['test', 'testing', 'other'] },
    write: ({ arg1, arg2 }) => `The arguments are '${arg1}' and '${arg2}'.`,
  }),
  definePrompt({
    ...common,
    name: 'test_prompt_with_embedded_resource',
    title: 'With a document',
    arguments: z.strictObject({ resourceUri: z.string() }),
    shows: ({ resourceUri: uri }) => [
      { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'The document.' } },
    ],
    write: () => 'Read the document above.',
  }),
  definePrompt({
    ...common,
    name: 'test_prompt_with_image',
    title: 'With an image',
    arguments: z.strictObject({}),
    shows: () => [{ type: 'image', data: pixelPng, mimeType: 'image/png' }],
    write: () => 'Look at the image above.',
  }),
  definePrompt({
    ...common,
    name: 'test_input_required_result_prompt',
    title: 'With what the user adds',
    arguments: z.strictObject({ context: z.string() }),
    write: ({ context }) => `The user added: ${context}`,
  }),
] as readonly Prompt[]
