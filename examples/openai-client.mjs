// OpenAI's client, with calls that the wallet pays for. Settings: FAREBOX_BASE_URL and a wallet, as for `farebox mcp`.
// In a clone without a build: npx node -C farebox-source examples/openai-client.mjs
import { agentFromEnvironment } from 'farebox'
import OpenAI from 'openai'

const agent = await agentFromEnvironment()
const baseURL = process.env.FAREBOX_BASE_URL ?? 'http://127.0.0.1:8402/api/v1'
const openai = new OpenAI({ baseURL, apiKey: 'unused', fetch: agent.fetch })

const stream = await openai.chat.completions.create({
  model: 'demo-chat',
  messages: [{ role: 'user', content: 'Say something about the sea.' }],
  max_tokens: 60,
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')

const { output } = await agent.tools.wallet_status()
console.log(`\nCredit left: ${output.credit_usd} USD`)
await agent.close()
