import type { Plugin } from 'rolldown'

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
