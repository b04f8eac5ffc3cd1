import type { Plugin } from 'rolldown'

const ADAPTOR = /[/\\]@hono[/\\]node-server[/\\]dist[/\\]index\.mjs$/
const HTTP2 = '\0no-http2'
const GLOBALS = '\0late-globals'

/**
 * Starts a server without Node's `fetch`, which takes a tenth of a start and which most services never use. The adaptor
 * from Node's messages to web requests derives classes from it as it loads; here these classes get their base when one
 * of them is first constructed.
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

/** All servers here speak HTTP/1.1, so no message is one of these. */
const noHttp2 = `export class Http2ServerRequest {}
export const constants = { NGHTTP2_NO_ERROR: 0 }`

/** The adaptor's code at loading, and its replacement. */
const adapted: Readonly<Record<string, string>> = {
  'const GlobalHeaders = globalThis.Headers;': `const GlobalHeaders = late('Headers');`,
  'globalThis.Headers === GlobalHeaders ?': 'true ?',
  'const GlobalRequest = global.Request;': `const GlobalRequest = late('Request');`,
  'const GlobalResponse = global.Response;': `const GlobalResponse = late('Response');`,
  'const CloseEvent = globalThis.CloseEvent ??': 'const CloseEvent =',
}

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
