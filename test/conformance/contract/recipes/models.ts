import type { Recipes } from '../recipe.ts'

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
