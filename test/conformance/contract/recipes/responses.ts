import type { Recipes } from '../recipe.ts'

const asked = { model: 'demo-chat', input: 'Say two words.', max_output_tokens: 16 }

export const responseRecipes: Recipes = {
  createResponse: { succeeds: [{ body: asked }, { body: asked, as: 'wallet' }] },
}
