import type { Recipes } from './recipe.ts'
import { augmentRecipes } from './recipes/augment.ts'
import { chatRecipes } from './recipes/chat.ts'
import { cryptoRecipes } from './recipes/crypto.ts'
import { imageRecipes } from './recipes/images.ts'
import { limitRecipes } from './recipes/limits.ts'
import { modelRecipes } from './recipes/models.ts'
import { videoRecipes } from './recipes/video.ts'
import { x402Recipes } from './recipes/x402.ts'

/** One file a family. */
export const recipes: Recipes = {
  ...augmentRecipes,
  ...chatRecipes,
  ...cryptoRecipes,
  ...imageRecipes,
  ...limitRecipes,
  ...modelRecipes,
  ...videoRecipes,
  ...x402Recipes,
}
