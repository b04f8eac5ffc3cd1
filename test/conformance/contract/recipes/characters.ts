import { demoCharacters } from '#service/capabilities/characters/demo-characters.ts'
import type { Recipes } from '../recipe.ts'

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
