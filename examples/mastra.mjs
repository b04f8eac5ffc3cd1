// Mastra, with a model that the wallet pays for and that may use farebox's tools.
// In a clone without a build: npx node -C farebox-source examples/mastra.mjs
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { agentFromEnvironment, aiSdkTools } from 'farebox'

const agent = await agentFromEnvironment()
const provider = createOpenAICompatible({
  name: 'farebox',
  baseURL: process.env.FAREBOX_BASE_URL ?? 'http://127.0.0.1:8402/api/v1',
  fetch: agent.fetch,
})
const assistant = new Agent({
  id: 'assistant',
  name: 'Assistant',
  instructions: 'You know the models of this service.',
  model: provider('demo-chat'),
  tools: aiSdkTools(agent, ['models_find', 'limits', 'wallet_status']),
})

const { text } = await assistant.generate('Which models of this service make videos?', { maxSteps: 4 })
console.log(text)
await agent.close()
