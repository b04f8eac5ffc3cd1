import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** The door to its functions, which is in a file of its own. */
const tokenizer = 'gpt-tokenizer/encoding/o200k_base'
const tokenizerFile = 'tokenizer'
const tokenizerFunctions = ['countTokens', 'decode', 'encode']

export const tokenizerEntry = (root: string): Record<string, string> => ({
  [tokenizerFile]: join(root, 'node_modules/gpt-tokenizer/esm/encoding/o200k_base.js'),
})

const lateTokenizerId = '\0late-tokenizer'

/** 2 MB of tables are read with the first text that is counted, and by no start: its functions are called as before. */
export const lateTokenizer: Plugin = {
  name: 'late tokenizer',
  resolveId: specifier => (specifier === tokenizer ? lateTokenizerId : null),
  load: id => (id === lateTokenizerId ? lateTokenizerCode : null),
}

const lateTokenizerCode = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
let loaded
const tokenizer = () => (loaded ??= require('./${tokenizerFile}.js'))
${tokenizerFunctions.map(name => `export const ${name} = (...given) => tokenizer().${name}(...given)`).join('\n')}
`

/**
 * One file of zod for the commands, which the launcher puts in the place of the installed one: of a hundred files, and
 * fifty languages that nobody asks for. Programs that use our doors share the installed one with us.
 */
export const zodOfCommands = (root: string): Record<string, string> => ({
  zod: join(root, 'node_modules/zod/index.js'),
})

const LANGUAGES = /[\\/]locales[\\/]index\.js$/
const noLanguages = '\0no-languages'

/** English is imported by itself. */
export const oneLanguage: Plugin = {
  name: 'one language',
  resolveId: specifier => (LANGUAGES.test(specifier) ? noLanguages : null),
  load: id => (id === noLanguages ? 'export {}' : null),
}
