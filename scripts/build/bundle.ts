import { join } from 'node:path'
import {
  type InputOptions,
  type OutputChunk,
  type OutputOptions,
  type Plugin,
  type RolldownOutput,
  rolldown,
} from 'rolldown'
import { checkEntries, entryPoints, isExternal, threads } from './entries.ts'
import {
  lateBuiltins,
  lateEntries,
  lateHttp,
  lateTokenizer,
  lateUndici,
  oneLanguage,
  zodOfCommands,
} from './late-packages.ts'
import { clientApart, httpApart, onlySchemas, withoutAjv, withoutSpecTypes } from './mcp-sdk.ts'
import { startGroups } from './start-groups.ts'
import { supportedNodeFile } from './supported-node.ts'

/**
 * Bundles every entry with shared chunks into `dist`; returns the chunks, which show what they contain. The bundle is
 * built twice: the first build shows what is read at startup, which configures the second.
 */
export async function bundle(root: string, dist: string): Promise<OutputChunk[]> {
  checkEntries(root)
  await using build = await rolldown(input(root))
  const split = chunksOf(await build.generate({ ...output, minify: false }))
  const groups = startGroups(split)
  await using zod = await rolldown({
    input: zodOfCommands(root),
    platform: 'node',
    plugins: [lateBuiltins, oneLanguage],
  })
  await using writer = await rolldown({
    ...common(root),
    input: { [writerThread]: join(root, threads[writerThread]) },
    plugins: [lateBuiltins],
  })
  return [
    ...chunksOf(await build.write({ ...output, dir: dist, codeSplitting: { groups } })),
    ...chunksOf(await zod.write({ ...output, dir: dist })),
    ...chunksOf(await writer.write({ ...output, dir: dist })),
  ]
}

/**
 * Every start of a service waits for this thread's start. A thread shares no objects, so it may have its own copy of
 * everything.
 */
const writerThread = 'sqlite-writer-thread'

const input = (root: string): InputOptions => ({
  ...common(root),
  input: {
    ...Object.fromEntries(Object.entries(shared).map(([name, path]) => [name, join(root, path)])),
    ...lateEntries(root),
  },
  plugins: [
    ...[sharedZod, withoutAjv, withoutSpecTypes(), clientApart(), httpApart()],
    ...[lateBuiltins, lateHttp, lateTokenizer, lateUndici],
  ],
})

const { [writerThread]: _alone, ...shared } = entryPoints

const common = (root: string): InputOptions => ({
  cwd: root,
  platform: 'node',
  external: isExternal,
  // Some packages offer Node a single file or an old format; from these the bundle keeps only what it uses.
  resolve: {
    alias: {
      'hash-wasm': join(root, 'node_modules/hash-wasm/dist/index.esm.js'),
      'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js'),
    },
  },
  transform: { target: 'node22.20' },
  treeshake: { moduleSideEffects: [{ test: onlySchemas, sideEffects: false }] },
  // An unresolved import is only a warning here, and would fail at a user's machine.
  onLog(level, log, tell) {
    // A module that a start needs at once is in one chunk, even if it is also imported dynamically.
    if (log.code === 'INEFFECTIVE_DYNAMIC_IMPORT') return
    tell(level === 'warn' ? 'error' : level, log)
  },
})

const output: OutputOptions = {
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // Names are kept, because users read stack traces and error classes.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  comments: false,
  // The error for an old Node must come first.
  banner: `import'./${supportedNodeFile}';`,
}

const chunksOf = ({ output: files }: RolldownOutput): OutputChunk[] => files.filter(file => file.type === 'chunk')

const FROM_A_PACKAGE = /[\\/]node_modules[\\/]/

/**
 * Our own schemas use the zod that is installed with farebox, because a user's program may mix its schemas with ours. A
 * bundled package keeps the zod that it was built for: its schemas never meet others, and the installed zod may be
 * another major version. Bundled, the package also starts a third faster than with zod's many files.
 */
const sharedZod: Plugin = {
  name: 'shared zod',
  resolveId(specifier, importer = '') {
    const isOurs = /^zod(\/|$)/.test(specifier) && !FROM_A_PACKAGE.test(importer)
    return isOurs ? { id: specifier, external: true } : null
  },
}
