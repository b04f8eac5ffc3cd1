import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The public entry points of the package, by the name of their bundle. `exports` in package.json points to them. */
export const packageEntries = {
  agent: 'src/agent/index.ts',
  contract: 'src/contract/index.ts',
  toolkit: 'src/toolkit/index.ts',
  service: 'src/service/index.ts',
}

/** Files that run as a thread. Once bundled, the code that starts one uses this name. */
export const threads = {
  'sqlite-writer-thread': 'src/ledger/store/sqlite/sqlite-writer-thread.ts',
  'embedding-thread': 'src/engines/local/embedding-thread.ts',
  'operator-query-thread': 'src/operator/queries/operator-query-thread.ts',
  'account-query-thread': 'src/account/queries/account-query-thread.ts',
  'audit-thread': 'src/operator/console/audit-thread.ts',
  'document-thread': 'src/engines/documents/document-thread.ts',
  'face-thread': 'src/engines/faces/face-thread.ts',
  'nsfw-thread': 'src/engines/moderation/nsfw-thread.ts',
  'flite-thread': 'src/engines/local/flite-thread.ts',
  'page-thread': 'src/engines/web/page-thread.ts',
  'demo-image-thread': 'src/engines/demo/demo-image-thread.ts',
  'convert-thread': 'src/engines/comfy/convert-thread.ts',
  'esrgan-thread': 'src/engines/esrgan/esrgan-thread.ts',
  'memory-watch-thread': 'src/host/media/memory-watch-thread.ts',
}

/** Files that run as a process, named the same way. */
export const processes = {
  'solana-chain-process': 'src/local/solana/process.ts',
  'media-process': 'src/host/media/media-process.ts',
}

/** Everything that is started or imported from outside, by the name of its file in `dist/`, which has no folders. */
export const entryPoints: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
  ...packageEntries,
  ...threads,
  ...processes,
}

/** Not bundled: optional peers with binaries. Whether zod is bundled depends on who imports it. */
const externals = ['@foundry-rs/anvil', '@napi-rs/keyring', 'litesvm', 'node-av']

export const isExternal = (specifier: string): boolean =>
  externals.some(name => specifier === name || specifier.startsWith(`${name}/`))

/** Throws the names of entries whose file is missing, because the bundler's own message is unclear. */
export function checkEntries(root: string): void {
  const missing = Object.entries(entryPoints).filter(([, path]) => !existsSync(join(root, path)))
  if (missing.length === 0) return
  throw new Error(`These entries are missing: ${missing.map(([name, path]) => `${name} (${path})`).join(', ')}.`)
}
