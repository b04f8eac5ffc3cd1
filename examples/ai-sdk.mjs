// The AI SDK (6 or 7), with a model that the wallet pays for and that may use farebox's tools.
// In a clone without a build: npx node -C farebox-source examples/ai-sdk.mjs
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs } from 'ai'
import { agentFromEnvironment, aiSdkTools } from 'farebox'

const agent = await agentFromEnvironment()
const provider = createOpenAICompatible({
  name: 'farebox',
  baseURL: process.env.FAREBOX_BASE_URL ?? 'http://127.0.0.1:8402/api/v1',
  fetch: agent.fetch,
})

const { text } = await generateText({
  model: provider('demo-chat'),
  prompt: 'Which models of this service make videos?',
  tools: aiSdkTools(agent, ['models_find', 'limits', 'wallet_status']),
  stopWhen: stepCountIs(4),
  maxOutputTokens: 200,
})
console.log(text)
await agent.close()
