import { readFile } from 'node:fs/promises'
import { build, type Metafile, type Plugin } from 'esbuild'
import { entryPoints, externals } from './entries.ts'

/** Bundles every entry with shared chunks into `dist/`; the metafile says what went in. */
export async function bundle(root: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entryPoints(root),
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    external: externals,
    chunkNames: '[name]-[hash]',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // CommonJS packages in the bundle ask for Node's modules by `require`.
    banner: {
      js: `import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);`,
    },
    plugins: [workerUrls],
  })
  return metafile
}

/** A thread is started by `new URL('./x.worker.ts', import.meta.url)`; beside the bundle its file ends in `.js`. */
const workerUrls: Plugin = {
  name: 'worker-urls',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](src|tools|prompts)[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const contents = text.replaceAll(
        /new URL\('\.{1,2}\/(?:[\w.-]+\/)*([\w-]+\.worker)\.ts', import\.meta\.url\)/g,
        `new URL('./$1.js', import.meta.url)`,
      )
      return { contents, loader: 'ts' }
    })
  },
}
