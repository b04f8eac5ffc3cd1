import type { Recipes } from '../recipe.ts'

export const limitRecipes: Recipes = {
  getApiKeyRateLimits: { succeeds: [{}, { as: 'wallet' }] },
  getApiKeyRateLimitLogs: { succeeds: [{}, { path: '/api_keys/rate_limit_logs' }] },
}
