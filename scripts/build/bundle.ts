import { build, type Metafile } from 'esbuild'
import { checkEntries, entryPoints, externals } from './entries.ts'
import { httpApart } from './http-apart.ts'
import { sharedZod } from './shared-zod.ts'
import { lateSqlite, supportedNodeFile } from './supported-node.ts'
import { withoutAjv } from './without-ajv.ts'

/** Bundles every entry with shared chunks into `dist`; the metafile says what went in. */
export async function bundle(root: string, dist: string): Promise<Metafile> {
  checkEntries(root)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { ...entryPoints },
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    external: externals,
    plugins: [sharedZod, withoutAjv, httpApart, lateSqlite],
    chunkNames: '[name]-[hash]',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // What an old Node is told comes first. CommonJS packages in the bundle ask for Node's modules by `require`.
    banner: {
      js: `import'./${supportedNodeFile}';import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);`,
    },
  })
  return metafile
}
