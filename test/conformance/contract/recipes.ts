import type { Recipes } from './recipe.ts'
import { accountRecipes } from './recipes/accounts.ts'
import { audioRecipes } from './recipes/audio.ts'
import { augmentRecipes } from './recipes/augment.ts'
import { characterRecipes } from './recipes/characters.ts'
import { chatRecipes } from './recipes/chat.ts'
import { cryptoRecipes } from './recipes/crypto.ts'
import { imageEditRecipes } from './recipes/image-edits.ts'
import { imageRecipes } from './recipes/images.ts'
import { limitRecipes } from './recipes/limits.ts'
import { modelRecipes } from './recipes/models.ts'
import { responseRecipes } from './recipes/responses.ts'
import { videoRecipes } from './recipes/video.ts'
import { web3KeyRecipes } from './recipes/web3-keys.ts'
import { x402Recipes } from './recipes/x402.ts'

/** One file a family. */
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
