import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'

const SDK = /^@modelcontextprotocol\/server$/

/**
 * Gives the HTTP transport a copy of its own of the SDK's door, which has the whole HTTP handler in it: a file is in one
 * chunk, so that every start over stdio would read it. What the door leads to is shared, and so are its classes.
 */
export const httpApart: Plugin = {
  name: 'http apart',
  setup(build) {
    build.onResolve({ filter: SDK }, ({ importer }) => {
      if (!/[/\\]src[/\\]mcp[/\\]http-/.test(importer) && !/[/\\]modelcontextprotocol[/\\]node[/\\]/.test(importer))
        return null
      const door = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server'))
      return { path: door, suffix: '?http', sideEffects: false }
    })
  },
}
