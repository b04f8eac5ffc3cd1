import type { Plugin } from 'rolldown'

const SHIMS = '@modelcontextprotocol/server/_shims'
const STAND_IN = '\0without-ajv'

/**
 * Leaves out the JSON Schema validator that the MCP SDK makes by default, a third of its code: our server hands it one of
 * its own. What stands in throws where it is used after all.
 */
export const withoutAjv: Plugin = {
  name: 'without ajv',
  resolveId: specifier => (specifier === SHIMS ? STAND_IN : null),
  load: id => (id === STAND_IN ? shims : null),
}

/** The names that the SDK imports from its shims; the build stops where one is missing. */
const shims = `export { default as process } from 'node:process'
export class DefaultJsonSchemaValidator {
  getValidator() { throw new Error('This bundle checks no JSON Schema by ajv.') }
}
`
