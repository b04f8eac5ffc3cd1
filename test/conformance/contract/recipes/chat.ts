import { requestTimeout } from '#contract/errors/errors.ts'
import type { Recipes } from '../recipe.ts'

const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Say two words.' }], max_tokens: 16 }

export const chatRecipes: Recipes = {
  createChatCompletion: {
    succeeds: [
      { body: chat },
      { body: { ...chat, n: 2, service_parameters: { include_service_system_prompt: false } }, as: 'wallet' },
      { body: { ...chat, messages: [{ role: 'user', content: [{ type: 'text', text: 'Say two words.' }] }] } },
    ],
    reaches: {
      504: {
        async answer(stand) {
          const before = stand.failure
          stand.failure = requestTimeout()
          const body = { ...chat, model: 'failing-demo-chat' }
          const response = await stand.ask('POST', '/chat/completions', { body })
          stand.failure = before
          return response
        },
      },
    },
  },
  createEmbedding: {
    succeeds: [
      { body: { model: 'demo-embedding', input: 'a boat' } },
      { body: { model: 'demo-embedding', input: ['a boat', 'a car'], dimensions: 8 } },
      { body: { model: 'demo-embedding', input: 'a boat', encoding_format: 'base64' }, as: 'wallet' },
    ],
    tolerated: [[/^data\.0\.embedding: /, 'the published answer leaves out the base64 that its request offers']],
  },
}
