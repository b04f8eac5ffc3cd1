import type { Tool } from '#toolkit/define-tool.ts'

/** Every tool by name, loaded when it is first needed; written by `npm run generate`. */
export const tools: Readonly<Record<string, () => Promise<Tool>>> = {
  "chain_rpc": async () => (await import('./chain-rpc.ts')).default,
  "characters_find": async () => (await import('./characters-find.ts')).default,
  "chat": async () => (await import('./chat.ts')).default,
  "embeddings_create": async () => (await import('./embeddings-create.ts')).default,
  "job_delete": async () => (await import('./job-delete.ts')).default,
  "job_list": async () => (await import('./job-list.ts')).default,
  "job_wait": async () => (await import('./job-wait.ts')).default,
  "limits": async () => (await import('./limits.ts')).default,
  "models_find": async () => (await import('./models-find.ts')).default,
  "usage_report": async () => (await import('./usage-report.ts')).default,
  "video_create": async () => (await import('./video-create.ts')).default,
  "video_quote": async () => (await import('./video-quote.ts')).default,
  "voice_clone": async () => (await import('./voice-clone.ts')).default,
  "wallet_receipts": async () => (await import('./wallet-receipts.ts')).default,
  "wallet_status": async () => (await import('./wallet-status.ts')).default,
  "wallet_top_up": async () => (await import('./wallet-top-up.ts')).default,
  "web_read": async () => (await import('./web-read.ts')).default,
  "web_search": async () => (await import('./web-search.ts')).default,
}
