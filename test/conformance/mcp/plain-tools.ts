import { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { defineTool, type Tool } from '#toolkit/define.ts'
import type { Shown, ToolContext } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { pixelPng, silenceWav } from './resources.ts'

/** Tools under the names that the suite calls, made as every tool of ours is. */
const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

interface Fixture {
  run?: (context: ToolContext) => void
  text?: string
  shows?: Shown[]
}

export const fixture = (name: string, { run, text = `This is ${name}.`, shows }: Fixture = {}): Tool =>
  defineTool({
    name,
    set: 'core',
    title: name,
    description: `What the suite expects of ${name}.`,
    annotations,
    input: z.object({}),
    output: z.object({}),
    async run(context) {
      run?.(context)
      return {}
    },
    say: () => text,
    ...(shows ? { shows: () => shows } : {}),
  })

const document = (uri: string, mimeType: string, text: string): Shown => ({
  type: 'resource',
  resource: { uri, mimeType, text },
})

export const plainTools: readonly Tool[] = [
  fixture('test_simple_text', { text: 'This is a simple text response for testing.' }),
  fixture('test_image_content', { shows: [{ type: 'image', data: pixelPng, mimeType: 'image/png' }] }),
  fixture('test_audio_content', { shows: [{ type: 'audio', data: silenceWav, mimeType: 'audio/wav' }] }),
  fixture('test_embedded_resource', {
    shows: [document('test://embedded-resource', 'text/plain', 'An embedded text.')],
  }),
  fixture('test_multiple_content_types', {
    shows: [
      { type: 'image', data: pixelPng, mimeType: 'image/png' },
      document('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  fixture('test_tool_with_progress', {
    run(context) {
      for (const done of [0, 50, 100]) context.report({ message: `${done} of 100`, done, total: 100 })
    },
  }),
  fixture('test_error_handling', {
    run() {
      throw new ToolFailure({ happened: 'This tool always fails.', charged: zeroUsd, next: 'Call another one.' })
    },
  }),
  fixture('test_streaming_elicitation'),
]
