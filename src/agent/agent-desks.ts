import type { MicroUsd } from '#contract/money.ts'
import type { Paid } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { closingMs } from './bounds.ts'
import { PaidCalls } from './calls/paid-call.ts'
import { PaidCallRows } from './calls/paid-call-rows.ts'
import type { Core } from './core.ts'
import { CallJobs } from './jobs/call-jobs.ts'
import { FollowedJobs, resumeJobs } from './jobs/followed-jobs.ts'
import { JobRows } from './jobs/job-rows.ts'
import { SavedFiles } from './media/saved-files.ts'
import { ModelRecords } from './prices/model-records.ts'
import { Receipts } from './receipts/receipts.ts'
import { Limits } from './wallet/limits-view.ts'
import { sayRefill } from './wallet/refills.ts'
import { ToolWallet } from './wallet/tool-wallet.ts'
import { circumstancesOf, explain } from './words/explain.ts'
import { asTyped, placeOf, typedWords } from './words/typed-commands.ts'

/** What all calls of one agent share. */
export class AgentDesks {
  readonly core: Core
  readonly rows: PaidCallRows
  readonly jobRows: JobRows
  readonly models: ModelRecords
  readonly paidCalls: PaidCalls
  readonly callJobs: CallJobs
  readonly limits: Limits
  readonly receipts: Receipts
  readonly savedFiles: SavedFiles
  readonly wallet: ToolWallet
  readonly resumed: ReturnType<typeof resumeJobs>
  readonly followed: FollowedJobs

  constructor(core: Core) {
    const { state, clock, client } = core
    this.core = core
    this.rows = new PaidCallRows(state, clock)
    this.jobRows = new JobRows(state, clock)
    this.savedFiles = new SavedFiles(state, clock)
    this.models = new ModelRecords(client)
    this.paidCalls = new PaidCalls(core, this.models, this.rows)
    this.limits = new Limits(core)
    this.receipts = new Receipts(core)
    this.wallet = new ToolWallet(core, this.receipts)
    this.callJobs = new CallJobs(this)
    this.resumed = resumeJobs(this)
    this.followed = new FollowedJobs(this)
  }

  async paid(chargedMicroUsd: MicroUsd | null, creditLeftMicroUsd: MicroUsd | null): Promise<Paid> {
    const status = await this.core.wallet?.status()
    const note = status?.refill ? sayRefill(status.refill) : null
    const budgetLeftMicroUsd = status?.leftMicroUsd ?? null
    return {
      chargedMicroUsd,
      creditLeftMicroUsd,
      budgetLeftMicroUsd,
      ...(note === null ? {} : { notes: [asTyped(note, placeOf(this.core))] }),
    }
  }

  /** Runs an effect; what it throws comes out in words. */
  async worded<Result>(isPaid: boolean, signal: AbortSignal, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      if (signal.aborted) throw error
      const explained = explain(error, circumstancesOf(this.core, isPaid))
      const said = typedWords(explained, placeOf(this.core))
      throw isPaid && said instanceof ToolFailure ? await this.#withBudget(said) : said
    }
  }

  /** Who fails to buy wants to know what could still be paid; that it cannot be told takes nothing from what is. */
  async #withBudget(failure: ToolFailure): Promise<ToolFailure> {
    const status = await this.core.wallet?.status().catch(() => null)
    return status ? new ToolFailure({ ...failure.facts, budgetLeftMicroUsd: status.leftMicroUsd }) : failure
  }

  /**
   * Lets paid calls end for a moment, so that their answers are kept; what is still open then stands in its row and is not
   * repeated any more, because a repeat that a closing program breaks off would say less than is known.
   */
  async close(): Promise<void> {
    const { client, state, records, pause } = this.core
    this.resumed.stop()
    this.followed.stop()
    const waiting = new AbortController()
    const settled = this.paidCalls.settled().then(() => this.core.refills.settled())
    await Promise.race([settled, pause(closingMs, waiting.signal)])
    waiting.abort()
    await this.paidCalls.giveUp()
    await client.close()
    await records.close()
    state.close()
  }
}
