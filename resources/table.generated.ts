import type { Resource } from '#toolkit/define.ts'

/** Every resource by name, loaded when it is first needed; written by `npm run generate`. */
export const resources = {
  "app_approval": async () => (await import('./app-approval.ts')).default,
  "app_media": async () => (await import('./app-media.ts')).default,
  "app_spending": async () => (await import('./app-spending.ts')).default,
  "media_file": async () => (await import('./media-file.ts')).default,
  "media": async () => (await import('./media.ts')).default,
  "model": async () => (await import('./model.ts')).default,
  "models": async () => (await import('./models.ts')).default,
  "policy": async () => (await import('./policy.ts')).default,
  "receipt": async () => (await import('./receipt.ts')).default,
  "receipts": async () => (await import('./receipts.ts')).default,
} satisfies Readonly<Record<string, () => Promise<Resource>>>
