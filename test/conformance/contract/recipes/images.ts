import type { Recipes } from '../recipe.ts'

const picture = { model: 'demo-image', prompt: 'a red boat', width: 64, height: 64 }

export const imageRecipes: Recipes = {
  generateImage: {
    succeeds: [
      { body: picture },
      { body: { ...picture, return_binary: true, format: 'png' } },
      { body: picture, as: 'wallet' },
    ],
  },
  simpleGenerateImage: {
    succeeds: [
      { body: { model: 'demo-image', prompt: 'a red boat', size: '256x256' } },
      { body: { model: 'demo-image', prompt: 'a red boat', size: '256x256', response_format: 'url' } },
    ],
  },
}
