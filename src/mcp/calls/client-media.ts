import { CLIENT_INFO_META_KEY, type Implementation, type ServerContext } from '@modelcontextprotocol/server'
import type { MediaBounds } from '#toolkit/tool-context.ts'

/**
 * What a result shows by itself. Claude Desktop takes 1,048,576 characters of one result, base64 among them, so these are
 * at most two thirds of that; a model reads an image of so many pixels as a few hundred words.
 */
const usual: MediaBounds = { images: 4, imagePixels: 512, imageBytes: 100_000, audioBytes: 400_000 }

/** Clients that are known to take less, by the name that they tell, in small letters. */
const known: readonly (readonly [startsWith: string, MediaBounds])[] = [
  // It counts base64 against 25,000 tokens of one result (anthropics/claude-code#9152).
  ['claude-code', { images: 1, imagePixels: 384, imageBytes: 24_000, audioBytes: 0 }],
  // Coding agents play no audio, and one that writes an unknown block out as text would fill its context with it.
  ...['codex', 'opencode', 'cline', 'copilot', 'zed'].map(name => [name, { ...usual, audioBytes: 0 }] as const),
]

/** By what the client said of itself with this request, or in the older protocols at its start. */
export function mediaBoundsOf({ mcpReq }: ServerContext, declared: Implementation | undefined): MediaBounds {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const { name } = (envelope[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? declared ?? { name: '' }
  const [, bounds] = known.find(([startsWith]) => String(name).toLowerCase().startsWith(startsWith)) ?? []
  return bounds ?? usual
}
