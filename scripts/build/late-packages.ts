import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** The entry point with its functions, which is in a separate file. */
const tokenizer = 'gpt-tokenizer/encoding/o200k_base'
const tokenizerFile = 'tokenizer'
const tokenizerFunctions = ['countTokens', 'decode', 'encode']

export const lateEntries = (root: string): Record<string, string> => ({
  [undici]: join(root, 'node_modules/undici/index.js'),
  [tokenizerFile]: join(root, 'node_modules/gpt-tokenizer/esm/encoding/o200k_base.js'),
})

const undici = 'undici'
const lateUndiciId = '\0late-undici'
const lateTokenizerId = '\0late-tokenizer'

/** 2 MB of tables, read when text is first counted instead of at startup; its functions are called as before. */
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
 * One file of zod for the commands, which the launcher uses instead of the installed one with its hundred files and
 * fifty languages. Programs that import our entry points share the installed one with us.
 */
export const zodOfCommands = (root: string): Record<string, string> => ({
  zod: join(root, 'node_modules/zod/index.js'),
})

const LANGUAGES = /[\\/]locales[\\/]index\.js$/
const noLanguages = '\0no-languages'

/** English is imported separately. */
export const oneLanguage: Plugin = {
  name: 'one language',
  resolveId: specifier => (LANGUAGES.test(specifier) ? noLanguages : null),
  load: id => (id === noLanguages ? 'export {}' : null),
}

/** Its dispatchers are created by the first request through them, because their code takes a tenth of a start. */
export const lateUndici: Plugin = {
  name: 'late undici',
  resolveId: (specifier, importer) => (specifier === undici && importer ? lateUndiciId : null),
  load: id => (id === lateUndiciId ? lateUndiciCode : null),
}

const lateUndiciCode = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
let loaded
const undici = () => (loaded ??= require('./${undici}.js').default)
const late = name => new Proxy(class {}, {
  construct: (_, given) => new (undici()[name])(...given),
  // A class that was never loaded has no instances.
  get: (_, key) => key === Symbol.hasInstance ? value => loaded !== undefined && value instanceof loaded[name] : undici()[name][key],
})
export const FormData = late('FormData')
export const WebSocket = late('WebSocket')
export const request = (...given) => undici().request(...given)
const lateDispatcher = name => class {
  #options
  #agent = null
  #end = null
  constructor(options) { this.#options = options }
  dispatch(options, handler) {
    if (!this.#agent) {
      this.#agent = new (undici()[name])(this.#options)
      // It refuses anything that comes too late.
      this.#end?.(this.#agent)
    }
    return this.#agent.dispatch(options, handler)
  }
  close() { return this.#ended(agent => agent.close()) }
  destroy(error = null) { return this.#ended(agent => agent.destroy(error)) }
  async #ended(end) {
    this.#end = end
    if (this.#agent) await end(this.#agent)
  }
}
export const Agent = lateDispatcher('Agent')
export const EnvHttpProxyAgent = lateDispatcher('EnvHttpProxyAgent')
`
