import { build, type Metafile } from 'esbuild'
import { entryPoints, externals } from './entries.ts'

/** Bundles every entry with shared chunks into `dist/`; the metafile says what went in. */
export async function bundle(root: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
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
  })
  return metafile
}
