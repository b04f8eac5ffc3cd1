import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '#contract/time.ts'
import type { VoiceOwner } from '../../http/service.ts'
import { voiceRetentionMs } from '../../models/bounds.ts'

const Handle = z.strictObject({ voice: z.string(), expiresAtMs: z.number() })

/** Of a SHA-256 in base64url. */
const signatureCharacters = 43

/**
 * Ids of voices that were made of recordings: what the engine calls them and until when, signed for their owner. Nothing
 * is stored, so a handle outlives a restart and a change of books.
 */
export class VoiceHandles {
  readonly #clock: Clock
  readonly #secrets: readonly string[]

  /** The first secret signs; the others are accepted while a secret is being replaced. */
  constructor(clock: Clock, secrets: readonly string[]) {
    this.#clock = clock
    this.#secrets = secrets
  }

  write(voice: string, owner: VoiceOwner): string {
    const [secret = ''] = this.#secrets
    const handle = { voice, expiresAtMs: this.#clock.now() + voiceRetentionMs }
    const said = Buffer.from(JSON.stringify(handle)).toString('base64url')
    return `vv_${said}${signature(said, owner, secret)}`
  }

  /** The engine's name of a voice; null for a handle of somebody else, of another model, or from more than seven days ago. */
  read(id: string, owner: VoiceOwner): string | null {
    const said = id.slice('vv_'.length, -signatureCharacters)
    // As text: the last character has bits that decode to nothing, and there is one spelling.
    const given = Buffer.from(id.slice(-signatureCharacters))
    const isSigned = this.#secrets.some(secret => {
      const expected = Buffer.from(signature(said, owner, secret))
      return expected.length === given.length && timingSafeEqual(expected, given)
    })
    if (!isSigned) return null
    const handle = Handle.parse(JSON.parse(Buffer.from(said, 'base64url').toString('utf8')))
    return handle.expiresAtMs > this.#clock.now() ? handle.voice : null
  }
}

const signature = (said: string, { account, model }: VoiceOwner, secret: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['voice', account, model, said]))
    .digest('base64url')
