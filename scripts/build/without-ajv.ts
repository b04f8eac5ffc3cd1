import type { Plugin } from 'esbuild'

const SHIMS = /^@modelcontextprotocol\/server\/_shims$/

/**
 * Leaves out the JSON Schema validator that the MCP SDK makes by default, a third of its code: our server hands it one of
 * its own. What stands in throws where it is used after all.
 */
export const withoutAjv: Plugin = {
  name: 'without ajv',
  setup(build) {
    build.onResolve({ filter: SHIMS }, ({ path }) => ({ path, namespace: 'without-ajv' }))
    build.onLoad({ filter: SHIMS, namespace: 'without-ajv' }, () => ({ contents: shims }))
  },
}

/** The names that the SDK imports from its shims; esbuild stops where one is missing. */
const shims = `export { default as process } from 'node:process'
export class DefaultJsonSchemaValidator {
  getValidator() { throw new Error('This bundle checks no JSON Schema by ajv.') }
}
`
