import type { Prompt } from '#toolkit/define.ts'

/** Every prompt by name, loaded when it is first needed; written by `npm run generate`. */
export const prompts = {
  "compare-models": async () => (await import('./compare-models.ts')).default,
  "make-a-video": async () => (await import('./make-a-video.ts')).default,
  "review-spending": async () => (await import('./review-spending.ts')).default,
  "set-up-wallet": async () => (await import('./set-up-wallet.ts')).default,
} satisfies Readonly<Record<string, () => Promise<Prompt>>>
