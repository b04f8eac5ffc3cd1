import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'rolldown'

const SDK = '@modelcontextprotocol/server'
const APART = '?http'

/**
 * Gives the HTTP transport a copy of its own of the SDK's door, which has the whole HTTP handler in it: a file is in one
 * chunk, so that every start over stdio would read it. What the door leads to is shared, and so are its classes.
 */
export const httpApart: Plugin = {
  name: 'http apart',
  resolveId(specifier, importer = '') {
    if (specifier !== SDK) return null
    if (!/[/\\]src[/\\]mcp[/\\]http-/.test(importer) && !/[/\\]modelcontextprotocol[/\\]node[/\\]/.test(importer))
      return null
    return { id: `${fileURLToPath(import.meta.resolve(SDK))}${APART}`, moduleSideEffects: false }
  },
  load: id => (id.endsWith(APART) ? readFile(id.slice(0, -APART.length), 'utf8') : null),
}
