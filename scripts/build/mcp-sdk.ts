/** What the bundle leaves out of the MCP SDK, or loads later: every start of `farebox mcp` waits for the rest. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'rolldown'

const SDK = '@modelcontextprotocol/server'
const APART = '?http'

/**
 * Gives the HTTP transport its own copy of the SDK's entry point, which contains the whole HTTP handler: a file is in
 * one chunk, so every start over stdio would read it. Everything that the entry point imports is shared, and so are its
 * classes.
 */
export function httpApart(): Plugin {
  let isMet = false
  return {
    name: 'http apart',
    resolveId(specifier, importer = '') {
      if (specifier !== SDK || !ofHttp.test(importer)) return null
      isMet = true
      return { id: `${fileURLToPath(import.meta.resolve(SDK))}${APART}`, moduleSideEffects: false }
    },
    load: id => (id.endsWith(APART) ? readFile(id.slice(0, -APART.length), 'utf8') : null),
    buildEnd() {
      if (!isMet) this.error('No file of the HTTP transport imports the SDK: correct their paths in this plugin.')
    },
  }
}

const ofHttp = /[/\\]src[/\\]mcp[/\\]http[/\\]|[/\\]modelcontextprotocol[/\\]node[/\\]/

const COPY = '?client'

/**
 * Gives the SDK's client, which only `farebox up` uses, its own copies of what it shares with the server. A shared file
 * would contain what only the client needs, such as the schemas of OAuth.
 */
export function clientApart(): Plugin {
  let isMet = false
  return {
    name: 'client apart',
    async resolveId(specifier, importer = '') {
      if (!importer.endsWith(COPY) && !ofClient.test(importer)) return null
      const found = await this.resolve(specifier, original(importer), { skipSelf: true })
      if (!found || found.external || !sharedByBoth.test(found.id)) return found
      isMet = true
      return { ...found, id: `${found.id}${COPY}` }
    },
    load: id => (id.endsWith(COPY) ? readFile(original(id), 'utf8') : null),
    buildEnd() {
      if (!isMet) this.error('The SDK’s client shares nothing with its server: leave out this plugin.')
    },
  }
}

const ofClient = /[/\\]@modelcontextprotocol[/\\]client[/\\]/
const sharedByBoth = /[/\\]node_modules[/\\](zod|@modelcontextprotocol[/\\]core)[/\\]/
const original = (id: string): string => (id.endsWith(COPY) ? id.slice(0, -COPY.length) : id)

/**
 * Leaves out the table of the specification's types, which the SDK fills when it is loaded, so that programs can check a
 * value by the name of its type. Ours checks none.
 */
export function withoutSpecTypes(): Plugin {
  let isMet = false
  return {
    name: 'without spec types',
    transform(code, id) {
      if (!isOfServer(id) || !typesFilled.every(loop => code.includes(loop))) return null
      isMet = true
      return { code: typesFilled.reduce((left, loop) => left.replace(loop, ''), code), map: null }
    },
    generateBundle(_, files) {
      if (!isMet) this.error('The SDK fills its table of types in another way: leave out this plugin, or change it.')
      // The client has a table of its own, which it does read.
      const ofSdk = Object.values(files).filter(file => file.type === 'chunk' && file.moduleIds.some(isOfServer))
      const reader = ofSdk.find(file => 'code' in file && readsTypes.test(file.code))
      if (reader) this.error(`${reader.fileName} checks a value by the name of its type: leave out this plugin.`)
    },
  }
}

const ofServer = /[/\\]@modelcontextprotocol[/\\]server[/\\]/
const isOfServer = (id: string): boolean => ofServer.test(id)
const typesFilled = [
  'for (const key of SPEC_SCHEMA_KEYS) register(key, schemas_exports[key]);',
  'for (const [key, schema] of Object.entries(authSchemas)) register(key, schema);',
]
const readsTypes = /\b(specTypeSchemas|isSpecType)[.[]/

/** Files that only define schemas, though their package does not say so: those that nothing uses are left out. */
export const onlySchemas = /[/\\]@modelcontextprotocol[/\\]core[/\\]/

const SHIMS = '@modelcontextprotocol/server/_shims'
const STAND_IN = '\0without-ajv'

/**
 * Leaves out the JSON Schema validator that the MCP SDK creates by default, a third of its code: our server passes its
 * own. The replacement throws if it is ever used.
 */
export const withoutAjv: Plugin = {
  name: 'without ajv',
  resolveId: specifier => (specifier === SHIMS ? STAND_IN : null),
  load: id => (id === STAND_IN ? shims : null),
}

/** The names that the SDK imports from its shims; the build fails if one is missing. */
const shims = `export { default as process } from 'node:process'
export class DefaultJsonSchemaValidator {
  getValidator() { throw new Error('This bundle checks no JSON Schema by ajv.') }
}
`
