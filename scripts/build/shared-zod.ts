import type { Plugin } from 'rolldown'

const FROM_A_PACKAGE = /[\\/]node_modules[\\/]/

/**
 * Our own schemas use the zod that is installed beside farebox, because a user's program may mix its schemas with ours. A
 * package in the bundle keeps the zod that it was made for: its schemas meet nobody's, and the installed one may be another
 * major. Bundled, it also starts a third faster than from zod's many files.
 */
export const sharedZod: Plugin = {
  name: 'shared zod',
  resolveId(specifier, importer = '') {
    const isOurs = /^zod(\/|$)/.test(specifier) && !FROM_A_PACKAGE.test(importer)
    return isOurs ? { id: specifier, external: true } : null
  },
}
