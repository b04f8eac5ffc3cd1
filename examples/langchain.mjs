// LangChain, with a model that the wallet pays for and that may use farebox's tools.
// In a clone without a build: npx node -C farebox-source examples/langchain.mjs
import { DynamicStructuredTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { agentFromEnvironment, langChainTools } from 'farebox'

const agent = await agentFromEnvironment()
const tools = langChainTools(agent, ['models_find', 'limits', 'wallet_status']).map(
  each => new DynamicStructuredTool(each),
)
const baseURL = process.env.FAREBOX_BASE_URL ?? 'http://127.0.0.1:8402/api/v1'
const model = new ChatOpenAI({
  model: 'demo-chat',
  apiKey: 'unused',
  maxTokens: 200,
  configuration: { baseURL, fetch: agent.fetch },
}).bindTools(tools)

const messages = [{ role: 'user', content: 'Which models of this service make videos?' }]
let answer = await model.invoke(messages)
for (let turn = 0; answer.tool_calls?.length && turn < 4; turn++) {
  const results = answer.tool_calls.map(call => tools.find(({ name }) => name === call.name).invoke(call))
  messages.push(answer, ...(await Promise.all(results)))
  answer = await model.invoke(messages)
}
console.log(answer.text)
await agent.close()
