import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The doors of the package: the file that is shown to users, by the name of its bundle. `exports` in package.json leads to them. */
export const doors = {
  agent: 'src/agent/index.ts',
  contract: 'src/contract/index.ts',
  toolkit: 'src/toolkit/index.ts',
  service: 'src/service/index.ts',
}

/** Files that start a thread of their own. The code that starts one knows it by this name once it is bundled. */
export const threads = {
  'sqlite-writer-thread': 'src/ledger/store/sqlite/sqlite-writer-thread.ts',
  'embedding-thread': 'src/engines/local/embedding-thread.ts',
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

/** Files that start a process of their own, known the same way. */
export const processes = {
  'solana-chain-process': 'src/local/solana/process.ts',
  'media-process': 'src/host/media/media-process.ts',
}

/** All that is started or imported from outside, by the name of its file in `dist/`, where every bundle lies side by side. */
export const entryPoints: Readonly<Record<string, string>> = {
  cli: 'src/cli/main.ts',
  ...doors,
  ...threads,
  ...processes,
}

/** Stay outside of the bundle: optional peers with binaries. zod is decided by who imports it. */
const externals = ['@foundry-rs/anvil', '@napi-rs/keyring', 'litesvm', 'node-av']

export const isExternal = (specifier: string): boolean =>
  externals.some(name => specifier === name || specifier.startsWith(`${name}/`))

/** Throws the names of entries whose file is not there, where the bundler would only say that something is amiss. */
export function checkEntries(root: string): void {
  const missing = Object.entries(entryPoints).filter(([, path]) => !existsSync(join(root, path)))
  if (missing.length === 0) return
  throw new Error(`These entries are missing: ${missing.map(([name, path]) => `${name} (${path})`).join(', ')}.`)
}
