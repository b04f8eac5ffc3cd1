import type { Prompt } from '#toolkit/define-prompt.ts'

/** Every prompt by name, loaded when it is first needed; written by `npm run generate`. */
export const prompts: Readonly<Record<string, () => Promise<Prompt>>> = {
  "make-a-video": async () => (await import('./make-a-video.ts')).default,
}
