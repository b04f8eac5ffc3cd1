import { zeroUsd } from '#contract/money.ts'
import type { Tool } from '#toolkit/define.ts'
import { jobOutput } from '#toolkit/output/job.ts'
import { paidOutput } from '#toolkit/output/paid.ts'
import { outcomeOf, type ToolOutcome } from '#toolkit/run-tool.ts'
import { failureFromText, ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation } from '#toolkit/tool-host.ts'
import type { AgentDesks } from '../agent-desks.ts'
import { isQueued, type JobRow, jobView } from '../jobs/job-rows.ts'
import { withReceipt } from './answer-call.ts'
import { toolContext } from './tool-context.ts'

/** What the call of a tool came to whose job has ended: the same as for a caller who waited. Never throws. */
export async function taskOutcome(
  desks: AgentDesks,
  tool: Tool,
  job: JobRow,
  invocation: Pick<Invocation, 'signal' | 'whenDelivered'>,
): Promise<ToolOutcome> {
  try {
    // A call that is done throws the result of the tool that was called.
    await toolContext(desks, { ...invocation, report: () => {} }).jobs.wait(job.jobId, 0)
    return tool.goesOnAs ? await jobOutcome(desks, tool, job) : failedCall(job)
  } catch (error) {
    return outcomeOf(error)
  }
}

/** Of a tool whose output is a job; it has members for what was paid where the tool pays. */
async function jobOutcome(desks: AgentDesks, tool: Tool, job: JobRow): Promise<ToolOutcome> {
  const row = isQueued(job) ? desks.rows.ofJob(job.jobId) : null
  const charged = job.refunded ? zeroUsd : job.priceMicroUsd
  const paid = await desks.paid(charged, row?.creditLeftMicroUsd ?? null)
  const told = row ? await withReceipt(desks, row.id, paid) : paid
  const output = tool.output.parse({ ...jobOutput(jobView(job)), ...paidOutput(told) })
  return { kind: 'done', output, text: tool.say(output), files: tool.files?.(output) ?? [] }
}

function failedCall({ jobId, failure, priceMicroUsd }: JobRow): ToolOutcome {
  const { happened, ...words } = failureFromText(failure ?? 'the reason is not known.')
  return outcomeOf(
    new ToolFailure({
      happened: `The call went on as job ${jobId} and failed: ${happened}`,
      ...words,
      charged: priceMicroUsd ?? 'unknown',
      next: 'Make the same call again if it is still needed.',
    }),
  )
}
