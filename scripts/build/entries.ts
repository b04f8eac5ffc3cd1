import { globSync } from 'node:fs'
import { basename } from 'node:path'

/** The doors of the package: the file that is shown to users, by the name of its bundle and of its `exports` entry. */
export const doors: Readonly<Record<string, string>> = {
  agent: 'src/agent/index.ts',
  contract: 'src/contract/index.ts',
  toolkit: 'src/toolkit/index.ts',
  service: 'src/service/index.ts',
}

/** Stay outside of the bundle: zod is shared with the user's own schemas, the others are optional peers with binaries. */
export const externals = ['zod', 'zod/*', '@foundry-rs/anvil', '@ffmpeg-installer/ffmpeg']

/** Every bundle lies directly in `dist/`. A thread's file is named `*.worker.ts` and becomes a bundle of its own. */
export function entryPoints(root: string): Record<string, string> {
  const workers = globSync('src/**/*.worker.ts', { cwd: root })
  const named = workers.map(path => [basename(path, '.ts'), path.replaceAll('\\', '/')] as const)
  if (new Set(named.map(([name]) => name)).size < named.length) {
    throw new Error(`Two worker files share a name: ${workers.join(', ')}`)
  }
  return { cli: 'src/cli/main.ts', ...doors, ...Object.fromEntries(named) }
}
