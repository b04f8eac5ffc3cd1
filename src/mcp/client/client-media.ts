import { CLIENT_INFO_META_KEY, type Implementation, type ServerContext } from '@modelcontextprotocol/server'
import type { MediaBounds } from '#toolkit/tool-context.ts'
import { formReadMs, rememberedForms } from '../bounds.ts'

/** What a client takes beside the text of a result, which has every fact and path. */
export interface ClientMedia {
  /** The images and audio that it shows. */
  shows: MediaBounds
  /** Links to the saved files: `untyped` leaves out the media type of images. */
  links: 'all' | 'untyped' | 'none'
}

/**
 * Claude Desktop accepts 1,048,576 characters in one result, base64 included, so these images are at most two thirds of
 * that. An image of this size costs a model as much as a few hundred words. Few clients play audio, and many write it as
 * base64 into the model's context.
 */
const usual: MediaBounds = { images: 4, imagePixels: 512, imageBytes: 100_000, audioBytes: 0 }

/** Claude Code counts base64 against 25,000 tokens of one result (anthropics/claude-code#9152). */
const small: MediaBounds = { images: 1, imagePixels: 384, imageBytes: 24_000, audioBytes: 0 }

/** Clients that differ, by the lower-case name that they report. */
const known: readonly (readonly [name: RegExp, Partial<ClientMedia>])[] = [
  // Claude Desktop runs Claude Code under the second name.
  [/^(?:claude-code|local-agent-mode)/, { shows: small }],
  // A view of MCP Apps gets no result that has a link (anthropics/claude-ai-mcp#753).
  [/^claude-ai/, { links: 'none' }],
  // It reads a linked image whole and sends it to the model, even one that is too large.
  [/^visual studio code/, { links: 'untyped' }],
  // The default of the Python SDK. LangChain sends a link's address to the model's provider, which refuses `file:`.
  [/^mcp$/, { links: 'none' }],
  [/^mcp-inspector/, { shows: { ...usual, audioBytes: 400_000 } }],
]

/** The first protocol with links. Clients of older ones reject a whole result because of a block that they don't know. */
const firstWithLinks = '2025-06-18'

/** Returns the name in this request, or in older protocols the one from its start, in lower case. */
export function clientName({ mcpReq }: ServerContext, declared: Implementation | undefined): string {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
  const { name } = (envelope[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? declared ?? { name: '' }
  return String(name).toLowerCase()
}

/** Takes the client's name in lower case, and the protocol version of its connection. */
export function mediaFor(client: string, version: string = firstWithLinks): ClientMedia {
  const [, differs] = known.find(([name]) => name.test(client)) ?? []
  const media: ClientMedia = { shows: usual, links: 'all', ...differs }
  return version < firstWithLinks ? { ...media, links: 'none' } : media
}

/**
 * Forms that were sent to clients and not yet answered by the user. Some clients declare that they show forms, but
 * answer each by themselves, or never; the user is then told in the result where to decide.
 */
export class SentForms {
  /** When each was first sent, in Unix milliseconds, oldest first. */
  readonly #sent = new Map<string, number>()

  noteSent(form: string, nowMs: number): void {
    if (this.#sent.has(form)) return
    this.#sent.set(form, nowMs)
    const [oldest] = this.#sent.keys()
    if (oldest !== undefined && this.#sent.size > rememberedForms) this.#sent.delete(oldest)
  }

  noteAnswered(form: string): void {
    this.#sent.delete(form)
  }

  /** The client answered it, and not the user. */
  noteUnseen(form: string): void {
    this.#sent.set(form, Number.NEGATIVE_INFINITY)
  }

  /** Whether this form was sent before, and the user cannot or did not answer it. Two calls at once both send it. */
  isUnanswered(form: string, nowMs: number): boolean {
    const sentAtMs = this.#sent.get(form)
    return sentAtMs !== undefined && !isTooSoon(sentAtMs, nowMs)
  }
}

/** Whether an answer came sooner than a user can read the form. */
export const isTooSoon = (sentAtMs: number, nowMs: number): boolean => nowMs - sentAtMs < formReadMs
