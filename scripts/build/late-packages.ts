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

/**
 * Reads Node's own modules at run time instead of importing them. An import reads every export, and some exports load
 * more: those of `node:http` all of `fetch`, those of `node:crypto` all of Web Crypto. An import is also resolved again
 * for each file. And on an older Node, an import that it lacks would fail before the error for an old Node is printed.
 */
export const lateBuiltins: Plugin = {
  name: 'late builtins',
  renderChunk(code) {
    const imports = this.parse(code).body.filter(node => node.type === 'ImportDeclaration')
    let late = code
    // From the last to the first, so that positions stay right.
    for (const { start, end, specifiers, source } of imports.toReversed()) {
      if (!source.value.startsWith('node:')) continue
      const whole: string[] = []
      const members: Member[] = []
      for (const each of specifiers) {
        if (each.type !== 'ImportSpecifier') whole.push(each.local.name)
        else members.push({ name: code.slice(each.imported.start, each.imported.end), local: each.local.name })
      }
      const statement = whole.length
        ? readAtOnce(source.value, members, whole)
        : readLate(source.value, members, `late$${start}`)
      late = late.slice(0, start) + statement + late.slice(end)
    }
    return late
  },
}

interface Member {
  name: string
  local: string
}

/**
 * Modules that take milliseconds to load, and those of their functions that are only ever called. The first call loads
 * the module, after `farebox mcp` has answered.
 */
const functions: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': ['createHash', 'createHmac', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
  'node:fs/promises': ['access', 'mkdir', 'readFile', 'readdir', 'rename', 'rm', 'stat', 'unlink', 'writeFile'],
  'node:readline/promises': ['createInterface'],
}

const read = (module: string) => `globalThis.process.getBuiltinModule('${module}')`

function readAtOnce(module: string, members: readonly Member[], whole: readonly string[] = []): string {
  const names = members.map(({ name, local }) => `${name}: ${local}`)
  const declared = names.length ? [...whole, `{ ${names.join(', ')} }`] : whole
  return declared.length ? `const ${declared.map(each => `${each} = ${read(module)}`).join(', ')};` : ''
}

function readLate(module: string, members: readonly Member[], variable: string): string {
  const isCalled = ({ name }: Member) => functions[module]?.includes(name) ?? false
  if (!members.length || !members.every(isCalled)) return readAtOnce(module, members)
  const called = members.map(
    ({ name, local }) => `${local} = (...given) => (${variable} ??= ${read(module)}).${name}(...given)`,
  )
  return `let ${variable}; const ${called.join(', ')};`
}

const ADAPTOR = /[/\\]@hono[/\\]node-server[/\\]dist[/\\]index\.mjs$/
const HTTP2 = '\0no-http2'
const GLOBALS = '\0late-globals'

/**
 * Starts a server without Node's `fetch`, which takes a tenth of a start and which most services never use. The adapter
 * from Node's messages to web requests (`@hono/node-server`) uses classes of `fetch` as it loads; here each of them is
 * loaded when one is first constructed.
 *
 * If a new version of the adapter lacks one of these expressions, or repeats it, the build stops and names it. If a new
 * version uses `fetch` in another expression, the build succeeds, but `fetch` is loaded at every start; a test of the
 * built package fails then.
 */
export const lateHttp: Plugin = {
  name: 'late http',
  resolveId(specifier, importer = '') {
    if (specifier === GLOBALS) return GLOBALS
    return specifier === 'node:http2' && ADAPTOR.test(importer) ? HTTP2 : null
  },
  load: id => ({ [HTTP2]: noHttp2, [GLOBALS]: lateGlobals })[id] ?? null,
  transform(code, id) {
    if (!ADAPTOR.test(id)) return null
    return Object.entries(adapted).reduce((text, [from, to]) => {
      if (text.split(from).length !== 2) this.error(`${id} has changed: it should contain \`${from}\` once.`)
      return text.replace(from, to)
    }, `import { late } from '${GLOBALS}'\n${code}`)
  },
}

/**
 * The adapter uses HTTP/2 only to recognize its messages, and all servers here speak HTTP/1.1. If it begins to import
 * another name from `node:http2`, the build fails.
 */
const noHttp2 = `export class Http2ServerRequest {}
export const constants = { NGHTTP2_NO_ERROR: 0 }`

/** Expressions of the adapter that would load `fetch`, and their replacements. */
const adapted: Readonly<Record<string, string>> = {
  // The prototype of the headers of every request, which the adapter reads from Node's message by itself.
  'const GlobalHeaders = globalThis.Headers;': `const GlobalHeaders = late('Headers');`,
  // Asks for every request whether a program has replaced `Headers`, which none does here. The comparison would load
  // `fetch` with the first request, and would always fail, because the class above is another one.
  'globalThis.Headers === GlobalHeaders ?': 'true ?',
  // The base of the adapter's class for requests. One is constructed only if more is needed than the URL, the method,
  // the headers or the whole body.
  'const GlobalRequest = global.Request;': `const GlobalRequest = late('Request');`,
  // The base of the adapter's class for responses, which would replace the global one without `overrideGlobalObjects`.
  'const GlobalResponse = global.Response;': `const GlobalResponse = late('Response');`,
  // A class that Node loads together with `fetch`. Only WebSockets use it, so the adapter's own substitute suffices.
  'const CloseEvent = globalThis.CloseEvent ??': 'const CloseEvent =',
}

/**
 * `late` returns a class that takes the place of a global one, and becomes its subclass when the first object is
 * constructed. Until then `instanceof` knows only objects of the class itself, of which there are none.
 */
const lateGlobals = `export function late(name) {
  const join = () => {
    if (Object.getPrototypeOf(Late.prototype) === Object.prototype) {
      Object.setPrototypeOf(Late, globalThis[name])
      Object.setPrototypeOf(Late.prototype, globalThis[name].prototype)
    }
    return globalThis[name]
  }
  function Late(...given) {
    const Base = join()
    return Reflect.construct(Base, given, new.target === Late ? Base : new.target)
  }
  return Late
}`
