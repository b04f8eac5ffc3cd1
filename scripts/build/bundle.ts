import { join } from 'node:path'
import { type InputOptions, type OutputChunk, type OutputOptions, type RolldownOutput, rolldown } from 'rolldown'
import { checkEntries, entryPoints, isExternal } from './entries.ts'
import { httpApart } from './http-apart.ts'
import { sharedZod } from './shared-zod.ts'
import { startGroups } from './start-groups.ts'
import { lateSqlite, supportedNodeFile } from './supported-node.ts'
import { withoutAjv } from './without-ajv.ts'

/**
 * Bundles every entry with shared chunks into `dist`; answers the chunks, which say what went in. It is put together twice:
 * how the first one is split says what is read at a start, and is told to the second one.
 */
export async function bundle(root: string, dist: string): Promise<OutputChunk[]> {
  checkEntries(root)
  await using build = await rolldown(input(root))
  const split = chunksOf(await build.generate({ ...output, minify: false }))
  const groupOf = startGroups(split)
  const groups = [{ name: (id: string) => groupOf.get(id) ?? null, debugName: 'what a start reads' }]
  return chunksOf(await build.write({ ...output, dir: dist, codeSplitting: { groups } }))
}

const input = (root: string): InputOptions => ({
  cwd: root,
  input: Object.fromEntries(Object.entries(entryPoints).map(([name, path]) => [name, join(root, path)])),
  platform: 'node',
  external: isExternal,
  transform: { target: 'node22.19' },
  plugins: [sharedZod, withoutAjv, httpApart, lateSqlite],
  // What cannot be resolved is a warning and would fail at a user's.
  onLog: (level, log, tell) => tell(level === 'warn' ? 'error' : level, log),
})

const output: OutputOptions = {
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // Names stay whole: a stack trace and an error's class are read by people.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  comments: false,
  // What an old Node is told comes first.
  banner: `import'./${supportedNodeFile}';`,
}

const chunksOf = ({ output: files }: RolldownOutput): OutputChunk[] => files.filter(file => file.type === 'chunk')
