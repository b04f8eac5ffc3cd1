import { requestTimeout } from '#contract/errors/errors.ts'
import { demoCharacters } from '#service/capabilities/characters/characters.ts'
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

const asked = { model: 'demo-chat', input: 'Say two words.', max_output_tokens: 16 }

export const responseRecipes: Recipes = {
  createResponse: { succeeds: [{ body: asked }, { body: asked, as: 'wallet' }] },
}

const slug = demoCharacters[0]?.slug
const nobody = '/characters/nobody'

export const characterRecipes: Recipes = {
  listCharacters: { succeeds: [{}, { query: '?limit=1&search=a' }] },
  getCharacterBySlug: { succeeds: [{ path: `/characters/${slug}` }], reaches: { 404: { path: nobody } } },
  getCharacterReviews: {
    succeeds: [{ path: `/characters/${slug}/reviews` }],
    reaches: { 400: { path: `/characters/${slug}/reviews`, query: '?page=0' }, 404: { path: `${nobody}/reviews` } },
  },
}

const readsNothing = 'it reads nothing that can fail'

export const modelRecipes: Recipes = {
  listModels: {
    succeeds: [
      { query: '?type=all', as: 'nobody' },
      ...['text', 'image', 'video', 'embedding'].map(type => ({ query: `?type=${type}` })),
    ],
    unreachable: { 500: readsNothing },
  },
  listModelTraits: { succeeds: [{ query: '?type=text' }], unreachable: { 500: readsNothing } },
  listModelCompatibilityMapping: { succeeds: [{ query: '?type=text' }], unreachable: { 500: readsNothing } },
  imageStylesList: { succeeds: [{ as: 'nobody' }], unreachable: { 500: readsNothing } },
}
