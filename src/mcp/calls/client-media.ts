import { CLIENT_INFO_META_KEY, type Implementation, type ServerContext } from '@modelcontextprotocol/server'
import type { MediaBounds } from '#toolkit/tool-context.ts'

/**
 * The media that a result shows inline. Claude Desktop accepts 1,048,576 characters in one result, base64 included, so
 * these are at most two thirds of that. An image of this size costs a model as much as a few hundred words.
 */
const usual: MediaBounds = { images: 4, imagePixels: 512, imageBytes: 100_000, audioBytes: 400_000 }

/** Clients with lower limits, by the lower-case name that they report. */
const known: readonly (readonly [startsWith: string, MediaBounds])[] = [
  // It counts base64 against 25,000 tokens of one result (anthropics/claude-code#9152).
  ['claude-code', { images: 1, imagePixels: 384, imageBytes: 24_000, audioBytes: 0 }],
  // Coding agents play no audio, and one that writes unknown blocks as text would fill its context.
  ...['codex', 'opencode', 'cline', 'copilot', 'zed'].map(name => [name, { ...usual, audioBytes: 0 }] as const),
]

/** Uses the client's name in this request, or in older protocols the one from its start. */
export function mediaBoundsOf({ mcpReq }: ServerContext, declared: Implementation | undefined): MediaBounds {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const { name } = (envelope[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? declared ?? { name: '' }
  const [, bounds] = known.find(([startsWith]) => String(name).toLowerCase().startsWith(startsWith)) ?? []
  return bounds ?? usual
}
