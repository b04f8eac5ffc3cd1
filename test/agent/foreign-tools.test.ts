import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, type ToolSet } from 'ai'
import type OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAgent } from '#agent/create-agent.ts'
import { aiSdkTools, langChainTools, openAiTools } from '#agent/tools/agent-tool.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { answerJson } from '../client/little-server.ts'
import { temporaryFolder } from './open-agent.ts'
import { type PretendOptions, payTo, pretendService, walletKey } from './pretend-service.ts'

async function open({ askAboveUsd, ...options }: PretendOptions & { askAboveUsd?: string } = {}) {
  const service = await pretendService({ credit: 5, ...options })
  const agent = await createAgent({
    baseUrl: service.baseUrl,
    wallet: { key: walletKey },
    policy: { askAboveUsd, payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo }] },
    dataFolder: temporaryFolder(),
  })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  return { service, agent }
}

describe('tools for OpenAI’s function calls', () => {
  const call = (name: string, args: string): OpenAI.ChatCompletionMessageFunctionToolCall => ({
    id: 'call_1',
    type: 'function',
    function: { name, arguments: args },
  })

  test('they fit the type of OpenAI’s client, and only the named ones are given away', async () => {
    const { agent } = await open()
    const tools: OpenAI.ChatCompletionTool[] = openAiTools(agent, ['chat', 'limits']).tools
    expect(tools).toMatchObject([
      { type: 'function', function: { name: 'chat', parameters: { type: 'object', required: ['model', 'prompt'] } } },
      { type: 'function', function: { name: 'limits' } },
    ])
    expect(openAiTools(agent).tools).toHaveLength(agent.toolList.length)
  })

  test('a call is made and answered as a message of the conversation', async () => {
    const { agent, service } = await open()
    const message: OpenAI.ChatCompletionMessageParam = await openAiTools(agent).answer(
      call('chat', '{"model":"m","prompt":"hi"}'),
    )
    expect(message).toMatchObject({
      role: 'tool',
      tool_call_id: 'call_1',
      content: expect.stringContaining('answer 1'),
    })
    expect(service.ledger.chats).toBe(1)
  })

  test.each([
    { wrong: 'a tool that is not there', name: 'wallet_empty', args: '{}', says: /No tool has this name.*chat/ },
    { wrong: 'arguments that are not JSON', name: 'chat', args: '{"model":', says: /not JSON/ },
    {
      wrong: 'arguments that are not right',
      name: 'chat',
      args: '{"model":"m"}',
      says: /prompt.*Nothing was charged/s,
    },
    { wrong: 'arguments of another kind', name: 'chat', args: '[]', says: /Nothing was charged/ },
  ])('$wrong: the model reads what to fix', async ({ name, args, says }) => {
    const { agent, service } = await open()
    expect((await openAiTools(agent).answer(call(name, args))).content).toMatch(says)
    expect(service.ledger.chats).toBe(0)
  })

  test('a tool without arguments may be called with none', async () => {
    const { agent } = await open()
    expect((await openAiTools(agent).answer(call('wallet_status', ''))).content).toMatch(/0x/)
  })

  test('what the user must decide is a text to show, and nothing is bought', async () => {
    const { agent, service } = await open({ askAboveUsd: '0' })
    const { content } = await openAiTools(agent).answer(call('chat', '{"model":"m","prompt":"hi"}'))
    expect(content).toMatch(/needs the user’s approval.*farebox wallet approve/s)
    expect(service.ledger.chats).toBe(0)
  })
})

/** Calls the tool first, and says what the tool said when it is asked again. */
function modelThatCalls(): NonNullable<PretendOptions['instead']> {
  return ({ path, body }, response) => {
    if (!path.endsWith('/chat/completions')) return false
    const { messages } = JSON.parse(body)
    const result = messages.find(({ role }: { role: string }) => role === 'tool')
    const message = result
      ? { role: 'assistant', content: `It says: ${result.content}` }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'wallet_status', arguments: '{}' } }],
        }
    const finish_reason = result ? 'stop' : 'tool_calls'
    answerJson(response, 200, {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, finish_reason, message }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    })
    return true
  }
}

test('the AI SDK pays by the agent’s fetch, and its model uses the agent’s tools', async () => {
  const { agent, service } = await open({ instead: modelThatCalls() })
  const provider = createOpenAICompatible({ name: 'farebox', baseURL: service.baseUrl, fetch: agent.fetch })
  const tools: ToolSet = aiSdkTools(agent, ['wallet_status', 'limits'])
  const { text } = await generateText({
    model: provider('m'),
    prompt: 'What is left?',
    tools,
    stopWhen: isStepCount(3),
  })
  expect(text).toMatch(/It says: .*0x/s)
  const [first] = service.seen.filter(({ path }) => path.endsWith('/chat/completions'))
  expect(
    JSON.parse(first?.body ?? '{}').tools.map((tool: OpenAI.ChatCompletionFunctionTool) => tool.function.name),
  ).toEqual(['limits', 'wallet_status'])
})

// Typed by hand: their packages are not in the lock file.
interface LangChain {
  DynamicStructuredTool: new (fields: object) => { name: string; invoke(call: unknown): Promise<{ content: string }> }
  ChatOpenAI: new (
    options: object,
  ) => {
    bindTools(tools: object[]): {
      invoke(messages: object[]): Promise<{ text: string; tool_calls?: { name: string }[] }>
    }
  }
}

test('LangChain runs the agent’s tools', { tags: ['frameworks'] }, async () => {
  const load = (name: string) => import(/* @vite-ignore */ name) as Promise<LangChain>
  const { DynamicStructuredTool } = await load('@langchain/core/tools')
  const { ChatOpenAI } = await load('@langchain/openai')
  const { agent, service } = await open({ instead: modelThatCalls() })
  const tools = langChainTools(agent, ['wallet_status', 'limits']).map(each => new DynamicStructuredTool(each))
  const configuration = { baseURL: service.baseUrl, fetch: agent.fetch }
  const model = new ChatOpenAI({ model: 'm', apiKey: 'unused', configuration }).bindTools(tools)
  const question = { role: 'user', content: 'What is left?' }
  const first = await model.invoke([question])
  const [call] = first.tool_calls ?? []
  const result = await tools.find(({ name }) => name === call?.name)?.invoke(call)
  expect(result?.content).toMatch(/0x/)
  expect((await model.invoke([question, first, result as object])).text).toMatch(/It says: .*0x/s)
})

test('Mastra runs the agent’s tools', { tags: ['frameworks'] }, async () => {
  interface Mastra {
    Agent: new (options: object) => { generate(prompt: string, options: object): Promise<{ text: string }> }
  }
  const name = '@mastra/core/agent'
  const { Agent } = (await import(/* @vite-ignore */ name)) as Mastra
  const { agent, service } = await open({ instead: modelThatCalls() })
  const provider = createOpenAICompatible({ name: 'farebox', baseURL: service.baseUrl, fetch: agent.fetch })
  const tools = aiSdkTools(agent, ['wallet_status', 'limits'])
  const assistant = new Agent({ id: 'a', name: 'A', instructions: 'Help.', model: provider('m'), tools })
  expect((await assistant.generate('What is left?', { maxSteps: 3 })).text).toMatch(/It says: .*0x/s)
})
