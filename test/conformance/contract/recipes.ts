import type { Recipes } from './recipe.ts'
import { accountRecipes, cryptoRecipes, limitRecipes, web3KeyRecipes, x402Recipes } from './recipes/accounts.ts'
import { audioRecipes } from './recipes/audio.ts'
import { augmentRecipes } from './recipes/augment.ts'
import { imageEditRecipes, imageRecipes } from './recipes/images.ts'
import { characterRecipes, chatRecipes, modelRecipes, responseRecipes } from './recipes/text.ts'
import { videoRecipes } from './recipes/video.ts'

/** One file for each family of operations. */
export const recipes: Recipes = {
  ...accountRecipes,
  ...audioRecipes,
  ...augmentRecipes,
  ...characterRecipes,
  ...imageEditRecipes,
  ...responseRecipes,
  ...chatRecipes,
  ...cryptoRecipes,
  ...imageRecipes,
  ...limitRecipes,
  ...modelRecipes,
  ...videoRecipes,
  ...web3KeyRecipes,
  ...x402Recipes,
}
