import { statSync } from 'node:fs'
import { join } from 'node:path'
import { lowered } from '#contract/errors/as-clause.ts'
import { displayUsd, zeroUsd } from '#contract/money.ts'
import { isApproved } from '#toolkit/approval.ts'
import { approvalsInARow } from '#toolkit/bounds.ts'
import type { Tool } from '#toolkit/define.ts'
import { jobOutput } from '#toolkit/output/job.ts'
import { paidOutput } from '#toolkit/output/paid.ts'
import { outcomeOf, type ToolOutcome } from '#toolkit/run-tool.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { failureFromText, ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation, Task, TaskState, TaskStore, ToolHost } from '#toolkit/tool-host.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'
import { keyFileName } from '#wallet/keys/key-file.ts'
import { localKeyFileName } from '#wallet/keys/local-key-file.ts'
import { settingsFileName } from '#wallet/rules/settings-file.ts'
import { lockedAgainMs, pollMs, taskTtlMs } from '../bounds.ts'
import { isQueued, type JobRow, jobView } from '../jobs/job-rows.ts'
import { agentFromSettings, closeAgent, type OpenAgent } from '../open-agent.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { dataFolderOf, serviceFileName } from '../settings/wallet-settings.ts'
import type { TestMoney } from '../wallet-page/make-wallet.ts'
import type { WalletPages } from '../wallet-page/wallet-page.ts'
import { answerKept, approvalRequired } from '../words/approval-words.ts'
import { placeOf, typedRequest } from '../words/typed-commands.ts'
import { catalogue } from './catalogue.ts'
import { paidNow, withReceipt } from './deliver-call.ts'
import { inOurWords, toolContext } from './tool-context.ts'

/** Who decided in an assistant's own dialog, for the approval's row. */
const inDialogue = "in the assistant's dialog"

/** What the MCP server needs to serve the tools. */
export const toolHost = (agent: OpenAgent): ToolHost => ({
  context: invocation => toolContext(agent, invocation),
  async answer(approvalId, answer) {
    const signal = new AbortController().signal
    const answered = await inOurWords(agent, false, signal, () =>
      agent.approvals.resolve(approvalId, { isApproved: isApproved(answer), by: inDialogue }),
    )
    return answerKept(answered, agent)
  },
  tasks: new Tasks(agent),
  close: () => closeAgent(agent),
})

type Looking = Pick<Invocation, 'signal' | 'whenDelivered' | 'shows'>

/** Jobs that MCP clients poll by themselves. All that is known about a task is in its job's row. */
class Tasks implements TaskStore {
  readonly #agent: OpenAgent

  constructor(agent: OpenAgent) {
    this.#agent = agent
  }

  async begin(tool: string, jobId: string): Promise<Task | null> {
    const found = this.#find(taskId(tool, jobId))
    if (!found || this.#isOver(found.job)) return null
    this.#agent.jobRows.wanted(jobId)
    return this.#task(found.id, found.job, this.#working(found.job))
  }

  async look(id: string, looking: Looking): Promise<Task | 'expired' | null> {
    const found = await this.#known(id)
    if (found === null || found === 'expired') return found
    const state = await this.#state(found.tool, found.job, looking)
    // Polling may have changed the row.
    return this.#task(id, this.#agent.jobRows.find(found.job.jobId) ?? found.job, state)
  }

  async cancel(id: string): Promise<'acknowledged' | 'expired' | null> {
    const found = await this.#known(id)
    if (found === null || found === 'expired') return found
    this.#agent.jobRows.cancelled(found.job.jobId)
    return 'acknowledged'
  }

  /** Returns the tool and job of a task that can still be polled. Makes no request and starts nothing. */
  async #known(id: string): Promise<{ tool: Tool; job: JobRow } | 'expired' | null> {
    const found = this.#find(id)
    const tool = found && (await catalogue.tools[found.tool]?.())
    // A tool that starts no jobs has none in a service's queue.
    if (!found || !tool || (isQueued(found.job) && !tool.goesOnAs)) return null
    return this.#isOver(found.job) ? 'expired' : { tool, job: found.job }
  }

  /** Returns a job that this wallet started at this service; tasks of others are unknown. */
  #find(id: string): { id: string; tool: string; job: JobRow } | null {
    const { client, jobRows } = this.#agent
    const named = readTaskId(id)
    if (!named || !Object.hasOwn(catalogue.tools, named.tool)) return null
    const job = jobRows.find(named.jobId)
    return job?.service === client.address.baseUrl ? { id, tool: named.tool, job } : null
  }

  #isOver({ startedAtMs }: JobRow): boolean {
    return this.#agent.clock.now() >= startedAtMs + taskTtlMs
  }

  #task(id: string, { startedAtMs, changedAtMs, cancelledAtMs }: JobRow, state: TaskState): Task {
    const endedAtMs = state.kind === 'working' ? null : (cancelledAtMs ?? changedAtMs)
    return {
      ...{ id, state, ttlMs: taskTtlMs, pollMs: pollMs.most },
      createdAtMs: startedAtMs,
      changedAtMs: endedAtMs ?? this.#agent.clock.now(),
    }
  }

  async #state(tool: Tool, job: JobRow, looking: Looking): Promise<TaskState> {
    if (job.cancelledAtMs !== null) return { kind: 'cancelled', message: sayGivenUp(job) }
    if (job.asks !== null) return this.#asked(job, job.asks)
    if (job.state === 'running') return this.#working(job)
    return { kind: 'ended', outcome: await taskOutcome(this.#agent, tool, job, looking) }
  }

  #working(job: JobRow): TaskState {
    const { clock } = this.#agent
    const heard = this.#agent.followed.follow(job)
    const message = heard ?? `${untrustedId(job.model)}: ${Math.round((clock.now() - job.startedAtMs) / 1_000)} s`
    return { kind: 'working', message: job.priceMicroUsd === null ? message : `${message}. ${sayCharged(job)}` }
  }

  /** A call that was not made because it needed an approval. */
  async #asked(job: JobRow, approvalId: string): Promise<TaskState> {
    const agent = this.#agent
    const { approvals } = agent
    const approval = await approvals.get(approvalId)
    if (approval?.state === 'denied') return { kind: 'declined', approvalId, kept: answerKept(approval, agent) }
    if (job.timesAsked > approvalsInARow) return unanswered(job.failure ?? notAnswered)
    if (approval?.state === 'approved') {
      this.#agent.callJobs.goOn(job)
      return this.#working(this.#agent.jobRows.find(job.jobId) ?? job)
    }
    if (approval?.state !== 'pending') return unanswered(notAnswered)
    const { request } = approvalRequired(approvals.asPending(approval))
    return { kind: 'needs_approval', requests: [typedRequest(request, placeOf(agent))] }
  }
}

const notAnswered = 'The user was asked and did not answer in time.'

const unanswered = (happened: string): TaskState => ({
  kind: 'ended',
  outcome: outcomeOf(new ToolFailure({ happened, charged: zeroUsd, next: 'Make the same call to ask again.' })),
})

const sayCharged = ({ priceMicroUsd }: JobRow): string =>
  priceMicroUsd === null ? 'The charge is not known yet.' : `Charged ${displayUsd(priceMicroUsd)}.`

const sayGivenUp = (job: JobRow): string =>
  job.asks !== null
    ? 'Cancelled before anything was sent or charged.'
    : `Cancelled. The service cannot stop work that has begun, so it may continue. ${sayCharged(job)} To get its result, call job_wait with ${job.jobId}.`

/** Returns the result of a tool's call whose job has ended, as for a caller who waited. Never throws. */
async function taskOutcome(agent: OpenAgent, tool: Tool, job: JobRow, looking: Looking): Promise<ToolOutcome> {
  const context = toolContext(agent, { ...looking, report: () => {} })
  try {
    // For a finished call this throws the result of the tool that was called.
    await context.jobs.wait(job.jobId, 0)
    return tool.goesOnAs ? await jobOutcome(agent, tool, job, context) : failedCall(job)
  } catch (error) {
    return outcomeOf(error)
  }
}

/** For a tool whose output is a job; it has members for what was paid if the tool pays. */
async function jobOutcome(agent: OpenAgent, tool: Tool, job: JobRow, context: ToolContext): Promise<ToolOutcome> {
  const row = isQueued(job) ? agent.rows.ofJob(job.jobId) : null
  const charged = job.refunded ? zeroUsd : job.priceMicroUsd
  const paid = await paidNow(agent, charged, row?.creditLeftMicroUsd ?? null)
  const paidWithReceipt = row ? await withReceipt(agent, row.id, paid) : paid
  const output = tool.output.parse({ ...jobOutput(jobView(job)), ...paidOutput(paidWithReceipt) })
  const shows = (await tool.shows?.(output, { context, input: {} })) ?? []
  return { kind: 'done', output, text: tool.say(output), files: tool.files?.(output) ?? [], shows }
}

function failedCall({ jobId, failure, priceMicroUsd }: JobRow): ToolOutcome {
  const { happened, ...words } = failureFromText(failure ?? 'the reason is unknown.')
  return outcomeOf(
    new ToolFailure({
      happened: `The call continued as job ${jobId} and failed: ${lowered(happened)}`,
      ...words,
      charged: priceMicroUsd ?? 'unknown',
      next: 'Make the same call again if it is still needed.',
    }),
  )
}

/** The job's id is 80 random bits; the tool's name before it says whose result the task has. */
const form = /^([a-z][a-z0-9_]{0,63})\.(job_[0-9a-z]{16})$/

const taskId = (tool: string, jobId: string): string => `${tool}.${jobId}`

/** Returns null for an id that is not ours. */
function readTaskId(id: string): { tool: string; jobId: string } | null {
  const [, tool, jobId] = form.exec(id) ?? []
  return tool !== undefined && jobId !== undefined ? { tool, jobId } : null
}

/** Where the passphrase for an encrypted wallet comes from. */
export interface PassphraseSource {
  /** The file that contains it, if it can be read again. */
  file: string | null
  read(): Promise<string | null>
}

/**
 * Creates the MCP server's host from an environment's settings, read when it is needed: `now` opens the wallet that
 * exists by then.
 */
export async function createHost(
  settingsNow: () => Promise<AgentSettings>,
  passphrase: PassphraseSource,
  testMoney: TestMoney | null = null,
): Promise<ToolHost> {
  let typed: string | null = null
  const pages = walletPages({
    testMoney,
    onPassphrase(text) {
      typed = text
      live.changed()
    },
  })
  const open = async () => {
    const settings = await settingsNow()
    const agent = await agentFromSettings(settings, typed ?? (await passphrase.read()), { mayStayLocked: true })
    const host: ToolHost = {
      ...toolHost(agent),
      offerWallet: async () => (await pages.get()).offer(agent, settings.env),
      walletMade: async (timeoutMs, signal) => (await pages.get()).made(timeoutMs, signal),
    }
    return { host, isLocked: agent.lockedBecause !== null }
  }
  const folder = dataFolderOf((await settingsNow()).env)
  const live = new LiveHost(folder, passphrase.file === null ? [] : [passphrase.file], open)
  const close = async () => {
    await pages.close()
    await live.close()
  }
  return { ...(await live.now()), now: () => live.now(), close }
}

/** The code of the pages loads when the first one is opened. */
function walletPages(ports: ConstructorParameters<typeof WalletPages>[0]) {
  let made: Promise<WalletPages> | null = null
  return {
    get() {
      made ??= import('../wallet-page/wallet-page.ts').then(module => new module.WalletPages(ports))
      return made
    },
    async close() {
      await (await made)?.close()
    },
  }
}

interface OpenedHost {
  host: ToolHost
  /** There is a wallet that did not open, for example because of a locked keychain, which no file shows. */
  isLocked: boolean
}

/**
 * A host that follows the current wallet: if one is created, changed or unlocked while the server runs, the next call
 * opens it. Calls in flight finish with the host that they started with.
 */
class LiveHost {
  readonly #open: () => Promise<OpenedHost>
  readonly #paths: readonly string[]
  #current: { opening: Promise<OpenedHost>; files: string; atMs: number; isLocked: boolean } | null = null
  readonly #former: Promise<OpenedHost>[] = []

  /** `files` are outside the wallet's folder, such as the one with the passphrase. */
  constructor(folder: string, files: readonly string[], open: () => Promise<OpenedHost>) {
    this.#open = open
    const names = [keyFileName, localKeyFileName, serviceFileName, settingsFileName]
    this.#paths = names.map(name => join(folder, name)).concat(files)
  }

  async now(): Promise<ToolHost> {
    const files = this.#paths.map(path => JSON.stringify(stampOf(path))).join()
    const known = this.#current
    const mayOpenNow = known?.isLocked && performance.now() - known.atMs > lockedAgainMs
    if (known && known.files === files && !mayOpenNow) return (await known.opening).host
    const opening = known?.files === files ? this.#openAgain(known.opening) : this.#open()
    if (known && known.files !== files) this.#former.push(known.opening)
    const current = { opening, files, atMs: performance.now(), isLocked: false }
    this.#current = current
    try {
      const { host, isLocked } = await current.opening
      current.isLocked = isLocked
      return host
    } catch (error) {
      // The next call notices what the user corrects.
      if (this.#current === current) this.#current = null
      throw error
    }
  }

  /** While the wallet stays locked, its first host remains: one for each attempt would hold more and more files open. */
  async #openAgain(locked: Promise<OpenedHost>): Promise<OpenedHost> {
    const opened = await this.#open().catch(error => {
      this.#former.push(locked)
      throw error
    })
    if (opened.isLocked) {
      await opened.host.close()
      return locked
    }
    this.#former.push(locked)
    return opened
  }

  /** The next call opens the wallet again. */
  changed(): void {
    if (this.#current) this.#current.files = ''
  }

  async close(): Promise<void> {
    const opened = [...this.#former, ...(this.#current ? [this.#current.opening] : [])]
    await Promise.all(opened.map(opening => opening.then(({ host }) => host.close()).catch(() => undefined)))
  }
}

function stampOf(path: string): readonly number[] | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ? [found.ino, found.size, found.mtimeMs] : null
}
