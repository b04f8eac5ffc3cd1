import { createHash } from 'node:crypto'
import { encodeBase58 } from '#contract/wire/base58.ts'

export type Commitment = 'processed' | 'confirmed' | 'finalized'

/** After how many blocks a transaction is confirmed, and finalized. On a chain that never drops blocks, both are 0. */
export interface Finality {
  confirmed: number
  finalized: number
}

/** As on the public network. */
const slotMs = 400
const blocksOfLife = 150

/** Slots without a block, so that a slot is not mistaken for a height. */
const skippedSlots = 1_000

/** Heights start above the life of a blockhash, so that the first ones are like all others. */
export const firstHeight = 1_000

/**
 * Blocks by the clock: one every 400 ms, counted on demand instead of created by a timer. A blockhash is derived from
 * its height, so none has to be stored.
 */
export class Slots {
  finality: Finality = { confirmed: 0, finalized: 0 }
  readonly #seed: string
  readonly #startMs: number
  #height: number

  /** `height` is that of the last block before a stop; a stopped chain makes no blocks. */
  constructor(options: { seed: string; height: number }) {
    this.#seed = options.seed
    this.#height = options.height
    this.#startMs = Date.now()
  }

  heightAt(commitment: Commitment = 'processed'): number {
    const height = this.#height + Math.floor(Math.max(0, Date.now() - this.#startMs) / slotMs)
    return commitment === 'processed' ? height : height - this.finality[commitment]
  }

  slotAt(commitment: Commitment = 'processed'): number {
    return this.heightAt(commitment) + skippedSlots
  }

  advance(blocks: number): void {
    this.#height += blocks
  }

  latestBlockhash(commitment: Commitment): { blockhash: string; lastValidBlockHeight: number } {
    const height = this.heightAt(commitment)
    return { blockhash: this.#hashOf(height), lastValidBlockHeight: height + blocksOfLife }
  }

  isValid(blockhash: string, commitment: Commitment = 'processed'): boolean {
    const height = this.heightAt(commitment)
    for (let age = 0; age <= blocksOfLife; age++) if (this.#hashOf(height - age) === blockhash) return true
    return false
  }

  /** Returns how far a block has come; null for a future one. */
  commitmentOf(height: number): { status: Commitment; confirmations: number | null } {
    if (height <= this.heightAt('finalized')) return { status: 'finalized', confirmations: null }
    const confirmations = this.heightAt() - height
    return { status: height <= this.heightAt('confirmed') ? 'confirmed' : 'processed', confirmations }
  }

  #hashOf(height: number): string {
    return encodeBase58(createHash('sha256').update(`${this.#seed}:${height}`).digest())
  }
}
