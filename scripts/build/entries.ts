/** The doors of the package: the file that is shown to users, by the name of its bundle. `exports` in package.json leads to them. */
export const doors = {
  agent: 'src/agent/index.ts',
  contract: 'src/contract/index.ts',
  toolkit: 'src/toolkit/index.ts',
  service: 'src/service/index.ts',
}

/** Files that start a thread of their own. The code that starts one knows it by this name once it is bundled. */
const threads = {
  'sqlite-writer-thread': 'src/service/store/sqlite/writer-thread.ts',
}

/** All that is started or imported from outside, by the name of its file in `dist/`, where every bundle lies side by side. */
export const entryPoints: Readonly<Record<string, string>> = { cli: 'src/cli/main.ts', ...doors, ...threads }

/** Stay outside of the bundle: zod is shared with the user's own schemas, the others are optional peers with binaries. */
export const externals = ['zod', 'zod/*', '@foundry-rs/anvil', '@ffmpeg-installer/ffmpeg']
