/**
 * A program of each entry point, as a user would write it. A line after `@ts-expect-error` must not compile; every
 * other one must.
 */
export const typedPrograms: Readonly<Record<string, string>> = {
  agent: `
import { type Agent, type AgentToolResult, agentFromEnvironment, aiSdkTools, createAgent, openAiTools } from 'farebox'
import { ApprovalRequired, type ToolArguments, ToolFailure, type ToolName, type ToolOutput } from 'farebox'

const agent: Agent = await createAgent({ baseUrl: 'http://127.0.0.1:8402/api/v1', key: 'a key' })
const chat = await agent.tools.chat({ model: 'm', prompt: 'hi', max_tokens: 5 })
const answer: string = chat.output.answer
const charged: number | null = chat.output.charged_usd
const words: string = chat.text
const path: string | undefined = chat.files[0]?.path
// @ts-expect-error an output has no such member
chat.output.answers
// @ts-expect-error a chat needs its prompt
await agent.tools.chat({ model: 'm' })
// @ts-expect-error nothing is called so
await agent.tools.chats({ model: 'm', prompt: 'hi' })
// @ts-expect-error a wrong type
await agent.call('chat', { model: 'm', prompt: 'hi', max_tokens: '5' })
// @ts-expect-error an unknown argument
await agent.call('chat', { model: 'm', prompt: 'hi', tokens: 5 })
// @ts-expect-error nothing is called so
await agent.call('chatt', { model: 'm', prompt: 'hi' })
// @ts-expect-error a chat takes arguments
await agent.call('chat')
const { output } = await agent.call('limits')
const same: ToolOutput<'limits'> = output
await agent.call('wallet_status', {}, { signal: AbortSignal.timeout(1_000) })
// @ts-expect-error no such option
await agent.call('wallet_status', {}, { timeout: 1_000 })
const job = await agent.tools.video_create({ model: 'v', prompt: 'a cat', duration: '5s' })
const done = await agent.tools.job_wait({ job_id: job.output.job_id })
if (done.output.state === 'completed') done.output.file?.path
// @ts-expect-error no job has this state
if (done.output.state === 'finished') done.output.file?.path
const asked: ToolArguments<'image_create'> = { model: 'i', prompt: 'a cat' }
const made: AgentToolResult<ToolOutput<'image_create'>> = await agent.tools.image_create(asked)
const name: ToolName = 'web_search'
const descriptions: string[] = agent.toolList.map(tool => tool.description)
const loose: AgentToolResult | undefined = await agent.toolList[0]?.call({ anything: true })
openAiTools(agent, ['chat']).tools[0]?.function.parameters
aiSdkTools(agent).chat?.description
const response: Response = await agent.fetch('http://127.0.0.1:8402/api/v1/models')
// @ts-expect-error caps are amounts of a policy
await createAgent({ baseUrl: 'http://127.0.0.1:8402/api/v1', caps: { perDayUsd: 5 } })
// @ts-expect-error a service has an address
await createAgent({ key: 'a key' })
const asking = await agentFromEnvironment({ onApproval: async question => ({ kind: 'approve', approved: question.kind === 'spend' }) })
try {
  await asking.tools.wallet_top_up({ amount_usd: 5 })
} catch (error) {
  if (error instanceof ToolFailure) console.log(error.facts.happened, error.facts.next)
  if (error instanceof ApprovalRequired) console.log(error.request.approvalId)
}
export { answer, charged, words, path, same, made, name, descriptions, loose, response }
`,
  contract: `
import { addUsd, errors, limits, type MicroUsd, microUsd, parseUsd, ServiceError, toUsdNumber } from 'farebox/contract'

const amount: MicroUsd = microUsd(5_000_000)
const sum: MicroUsd = addUsd(amount, amount)
const shown: number = toUsdNumber(sum)
const parsed: MicroUsd | null = parseUsd('0.25')
// @ts-expect-error a bigint of no unit is no amount
const wrong: MicroUsd = 5n
// @ts-expect-error a float is no amount
addUsd(0.5)
const refused: ServiceError = errors.authenticationFailed()
// @ts-expect-error there is no such error
errors.authenticationFailure()
export { amount, shown, parsed, wrong, refused, limits }
`,
  toolkit: `
import { defineTool, fromOutside, ToolFailure } from 'farebox/toolkit'
import { z } from 'zod'

const tool = defineTool({
  name: 'weather_read',
  set: 'web',
  title: 'Read the weather',
  description: 'Tells the weather of a place. Free.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ place: z.string() }),
  output: z.object({ weather: z.string() }),
  run: async (context, { place }) => {
    const { answer } = { answer: place + context.now() }
    // @ts-expect-error an argument that the input does not have
    context.report({ message: arguments_.city })
    return { weather: answer }
  },
  say: ({ weather }) => fromOutside('weather', weather),
})
declare const arguments_: { place: string }
// @ts-expect-error a tool states all four hints
defineTool({ ...tool, annotations: { readOnlyHint: true } })
// @ts-expect-error no such set
defineTool({ ...tool, set: 'weather' })
defineTool({
  ...tool,
  // @ts-expect-error the output has a weather
  run: async () => ({ wether: 'rain' }),
})
export { tool, ToolFailure }
`,
  service: `
import { DemoChat, OpenAiChat, type OpenService, openService, type ServiceOptions, type TextModel } from 'farebox/service'

const engine = new OpenAiChat({ baseUrl: 'http://127.0.0.1:11434/v1' })
// @ts-expect-error an engine has an address
new OpenAiChat({ apiKeyVariable: 'KEY' })
// @ts-expect-error a time-out of no such name
new OpenAiChat({ baseUrl: 'http://127.0.0.1:11434/v1', timeouts: { totalMs: 5 } })
declare const options: ServiceOptions
const service: OpenService = await openService(options)
// @ts-expect-error no such option
await openService({ ...options, ports: [8402] })
export type { TextModel }
export { DemoChat, engine, service }
`,
}
