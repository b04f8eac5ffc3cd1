import { randomUUID } from 'node:crypto'
import { abuseBlock } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'
import { AbuseBlock } from '../abuse-block.ts'
import { blocksRead } from './bounds.ts'
import { blocksScript, failureScript } from './scripts.ts'
import type { Valkey } from './valkey.ts'
import type { WhileThere } from './while-there.ts'

/**
 * The abuse block of several processes. Failures are counted on the shared store beside the own ones; whoever begins a
 * block tells the others, so that no request waits for a look at it.
 */
export class SharedBlock {
  readonly #own: AbuseBlock
  readonly #clock: Clock
  readonly #valkey: Pick<Valkey, 'run' | 'listen'>
  readonly #there: Pick<WhileThere, 'ask'>
  readonly #prefix: string

  constructor(options: {
    clock: Clock
    valkey: Pick<Valkey, 'run' | 'listen'>
    there: Pick<WhileThere, 'ask'>
    prefix: string
  }) {
    this.#clock = options.clock
    this.#valkey = options.valkey
    this.#there = options.there
    this.#prefix = options.prefix
    this.#own = new AbuseBlock(options.clock)
    const onMessage = (message: string) => {
      const space = message.indexOf(' ')
      this.#hold(message.slice(space + 1), Number(message.slice(0, space)))
    }
    this.#valkey.listen(this.#channel, onMessage, () => void this.catchUp())
  }

  /** As `AbuseBlock.check`, of what is known here. */
  check(subject: string): void {
    this.#own.check(subject)
  }

  /** One answer without success, here and for all. True when this one started a block. */
  async count(subject: string): Promise<boolean> {
    const nowMs = this.#clock.now()
    // Here at once, so that nothing slips through while the others are told.
    const blocks = this.#own.count(subject)
    const keys = [`${this.#prefix}failed:${subject}`, `${this.#prefix}blocked:${subject}`, this.#all]
    const { windowMs, failures, blockMs } = abuseBlock
    const values = [nowMs, windowMs, failures, blockMs, randomUUID(), this.#channel, subject]
    const untilMs = Number(await this.#there.ask(() => this.#valkey.run(failureScript, keys, values)))
    if (untilMs > 0) this.#hold(subject, untilMs)
    return blocks || untilMs > 0
  }

  /** Takes over the blocks that run, after a time without messages. */
  async catchUp(): Promise<void> {
    const values = [this.#clock.now(), blocksRead]
    const found = await this.#there.ask(() => this.#valkey.run(blocksScript, [this.#all], values))
    const words = Array.isArray(found) ? found.flat().map(String) : []
    for (let at = 0; at + 1 < words.length; at += 2) this.#hold(words[at] ?? '', Number(words[at + 1]))
  }

  #hold(subject: string, untilMs: number): void {
    const latestMs = this.#clock.now() + abuseBlock.blockMs
    if (Number.isFinite(untilMs)) this.#own.hold(subject, Math.min(untilMs, latestMs))
  }

  get #all(): string {
    return `${this.#prefix}blocks`
  }

  get #channel(): string {
    return `${this.#prefix}blocked`
  }
}
