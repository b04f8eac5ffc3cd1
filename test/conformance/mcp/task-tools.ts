import { z } from 'zod'
import { zeroUsd } from '#contract/money.ts'
import { defineTool, type Tool } from '#toolkit/define.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { payee, spend } from '../../mcp/approval-requests.ts'
import { fixture } from './plain-tools.ts'
import { beginJob, type FixtureJob } from './task-host.ts'

const output = z.object({ job_id: z.string(), text: z.string() })

/** A tool whose work continues as a job; a client without tasks gets the first result. */
const working = <Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  job: (input: z.output<z.ZodObject<Shape>>) => FixtureJob,
): Tool => {
  const input = z.object(shape)
  return defineTool({
    ...fixture(name),
    input,
    output,
    run: async (_context, given) => ({ job_id: beginJob(job(given)), text: `${name} has begun.` }),
    say: ({ text }) => text,
    goesOnAs: ({ job_id }) => job_id,
  }) as unknown as Tool
}

const done = (text: string) => ({ kind: 'done' as const, output: {}, text, files: [] })

const failed = new ToolFailure({ happened: 'This job always fails.', charged: zeroUsd, next: 'Call another tool.' })

/** What the suite expects of the Tasks extension. */
export const taskTools: readonly Tool[] = [
  defineTool({
    ...fixture('greet'),
    input: z.object({ name: z.string() }),
    output: z.object({ greeting: z.string() }),
    run: async (_context, { name }) => ({ greeting: `Hello, ${name}!` }),
    say: ({ greeting }) => greeting,
  }) as unknown as Tool,
  working('slow_compute', { seconds: z.number(), label: z.string().optional() }, ({ seconds }) => ({
    lastsMs: seconds * 1_000,
    outcome: done(`It took ${seconds} s.`),
  })),
  working('failing_job', {}, () => ({ outcome: { kind: 'failed', facts: failed.facts } })),
  working('protocol_error_job', {}, () => ({ outcome: { kind: 'fault', error: new Error('a mistake of ours') } })),
  working('confirm_delete', { filename: z.string() }, ({ filename }) => ({
    questions: [spend],
    outcome: done(`${filename} is decided.`),
  })),
  working('multi_input', {}, () => ({ questions: [spend, payee], outcome: done('Both were answered.') })),
  {
    ...working('test_tool_with_task', { name: z.string() }, ({ name }) => ({ outcome: done(`Hello, ${name}!`) })),
    userFills: {
      name: 'user_name',
      message: 'What is your name?',
      fields: { name: { type: 'string' } },
      required: ['name'],
    },
  },
]
