import { Hono } from 'hono'
import { methodNotAllowed, routeNotFound } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { operations } from '#contract/operations/operations.ts'
import { basePath, docsUrl } from '#contract/wire/base-url.ts'
import { onceLoaded } from '#host/packages.ts'
import type { Reference } from '../reference/reference.ts'
import { sendJson, sendText } from './body/send.ts'
import { readDownload, revokeDownload } from './downloads.ts'
import { type Exchange, requireSingleHeaders, setCommonHeaders } from './exchange.ts'
import { fail } from './failed-answer.ts'
import {
  type Admin,
  adminPaths,
  answerAdmin,
  answerFigures,
  type Figures,
  type Probe,
  Probes,
} from './operator-routes.ts'
import { type AppContext, exchangeOf, mount, reported, type ServiceEnvironment } from './pipeline.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

/** What is served in addition to the API, if its operator wants it. */
export interface Additions {
  admin?: Admin
  /** The customers' page. */
  account?: { answer(request: Request, address: string): Promise<Response> }
  figures?: Figures
}

/** Builds the API from the table of operations. */
export function createApp(
  service: Service,
  routes: readonly Route[],
  { admin, figures, account }: Additions = {},
): Hono<ServiceEnvironment> {
  const app = new Hono<ServiceEnvironment>()
  for (const route of routes) mount(app, route, service)
  const get: Get = (path, run, block = 'refuses') => {
    app.get(path, context => plain({ name: path, block }, context, service, exchange => run(exchange, context)))
  }
  const describe = onceLoaded(() => description(service))
  get(`${basePath}/openapi.yaml`, async exchange => sendText(exchange, await describe(), yamlType))
  mountPages(get, service)
  const probes = new Probes(service)
  const probed = (probe: () => Promise<Probe>) => async (exchange: Exchange) => {
    const { status, body } = await probe()
    return sendJson(exchange, status, body)
  }
  get(
    '/healthz',
    probed(() => probes.liveness()),
    'spares',
  )
  get(
    '/readyz',
    probed(() => probes.readiness()),
    'spares',
  )
  get('/downloads/:jobId', (exchange, context) => readDownload(exchange, context, service))
  app.delete('/downloads/:jobId', context =>
    plain({ name: '/downloads/:jobId' }, context, service, exchange => revokeDownload(exchange, context, service)),
  )
  if (admin) {
    const answer = (context: AppContext) =>
      plain({ name: context.req.path, block: 'refuses wrong tokens' }, context, service, exchange =>
        answerAdmin(exchange, { request: context.req.raw, socket: context.env?.incoming?.socket }, admin),
      )
    for (const path of adminPaths) app.post(path, answer)
  }
  if (account) {
    const answer = (context: AppContext) =>
      plain({ name: '/account' }, context, service, async exchange =>
        sendPage(exchange, await account.answer(context.req.raw, exchange.address)),
      )
    for (const path of ['/account', '/account/*']) app.all(path, answer)
  }
  if (figures) get('/metrics', exchange => answerFigures(exchange, figures), 'refuses wrong tokens')
  app.notFound(context =>
    plain({ name: 'unknown' }, context, service, () => Promise.reject(unknownPath(context.req.path))),
  )
  return app
}

type Get = (path: string, run: (exchange: Exchange, context: AppContext) => Promise<Response>, block?: Block) => void

/** The documentation for users. It is loaded with the first page, and shows the current models. */
function mountPages(get: Get, service: Service): void {
  const { settings, catalogue } = service
  const pages = onceLoaded(async () => {
    const [{ Reference }, { contentSecurityPolicy }] = await Promise.all([
      import('../reference/reference.ts'),
      import('../reference/html.ts'),
    ])
    const { publicUrl, vendor } = settings
    const source = { publicUrl, vendor, records: catalogue.records.bind(catalogue), models: () => catalogue.models }
    return { reference: new Reference(source), contentSecurityPolicy }
  })
  const send = async (exchange: Exchange, pageOf: (reference: Reference) => string | null) => {
    const { reference, contentSecurityPolicy } = await pages()
    const text = pageOf(reference)
    if (text === null) throw routeNotFound({ error: `There is no such page; ${docsUrl(settings)} lists them all.` })
    return sendHtml(exchange, text, contentSecurityPolicy)
  }
  get('/docs', exchange => send(exchange, reference => reference.index()))
  get('/docs/:id', (exchange, context) =>
    send(exchange, reference => reference.operation(context.req.param('id') ?? '')),
  )
  get('/policies/:provider', (exchange, context) =>
    send(exchange, reference => reference.policy(context.req.param('provider') ?? '')),
  )
  get('/', async exchange => {
    exchange.answerHeaders.set('location', docsUrl(settings))
    return exchange.wholeResponse('', 302)
  })
}

function sendHtml(exchange: Exchange, text: string, policy: string, status = 200): Promise<Response> {
  exchange.answerHeaders.set('content-security-policy', policy)
  exchange.answerHeaders.set('x-content-type-options', 'nosniff')
  return sendText(exchange, text, 'text/html; charset=utf-8', status)
}

/** Whether a user opened a page in a browser, and would see JSON as text. Paths of the API always answer with JSON. */
const opensPage = (exchange: Exchange, path: string): boolean =>
  !path.startsWith(basePath) && exchange.header('accept').some(types => /\btext\/html\b/.test(types))

async function sendFailurePage(exchange: Exchange, { status, body }: ServiceError): Promise<Response> {
  const { contentSecurityPolicy, failurePage } = await import('../reference/html.ts')
  const { error } = body as { error?: unknown }
  const sentence = typeof error === 'string' ? error : 'Try again in a moment.'
  return sendHtml(exchange, failurePage(status, sentence), contentSecurityPolicy, status)
}

/** Sends an answer of the customers' page, which has its own headers. */
async function sendPage(exchange: Exchange, { headers, status, body }: Response): Promise<Response> {
  for (const [name, value] of headers) exchange.answerHeaders.set(name, value)
  const type = headers.get('content-type') ?? ''
  // A file grows with the ledger, so it is sent as it is read.
  if (headers.has('content-disposition')) return exchange.response(body, status)
  return sendText(exchange, await new Response(body).text(), type, status)
}

/** A known path with another method is a 405 that names the right one. */
function unknownPath(path: string): ServiceError {
  const known = operations.filter(operation =>
    [operation.path, 'aliasPath' in operation ? operation.aliasPath : undefined].some(
      each => each !== undefined && isPath(each, path),
    ),
  )
  if (isPage(path)) return methodNotAllowed({ error: 'This page is read-only: use GET.' }, { allow: 'GET, HEAD' })
  if (!known.length)
    return routeNotFound({
      error: `There is no such path; the API is described at /docs and ${basePath}/openapi.yaml.`,
    })
  const methods = [...new Set(known.map(operation => operation.method))].join(', ')
  return methodNotAllowed({ error: `This path supports only ${methods}.` }, { allow: methods })
}

/** The paths of `mountPages`, which a request with another method does not reach. */
const isPage = (path: string): boolean => /^\/(docs(\/[^/]+)?|policies\/[^/]+)?$/.test(path)

const isPath = (pattern: string, path: string): boolean => {
  const [parts, given] = [`${basePath}${pattern}`.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, at) => part.startsWith('{') || part === given[at])
}

/**
 * Applies an abuse block on the caller's address: whether a token is correct is known only once the request is read.
 */
type Block = 'refuses' | 'refuses wrong tokens' | 'spares'

/** Returns the error that a check throws, or the given error. */
function errorOf(error: unknown, check: () => void): unknown {
  try {
    check()
    return error
  } catch (another) {
    return another
  }
}

/** Handles addresses outside the table of operations: the same request id, headers and errors, but no credentials. */
async function plain(
  { name, block = 'refuses' }: { name: string; block?: Block },
  context: AppContext,
  service: Service,
  run: (exchange: Exchange) => Promise<Response>,
): Promise<Response> {
  const exchange = exchangeOf(context, service)
  return reported(name, exchange, service, async () => {
    setCommonHeaders(exchange, service)
    exchange.isExempt = block === 'spares'
    try {
      requireSingleHeaders(exchange)
      if (block === 'refuses') service.guards.admit(exchange)
      const response = await run(exchange)
      exchange.ended()
      return response
    } catch (error) {
      const thrown = exchange.isExempt ? error : errorOf(error, () => service.guards.admit(exchange))
      return opensPage(exchange, context.req.path)
        ? fail(null, exchange, service, thrown, failed => sendFailurePage(exchange, failed))
        : fail(null, exchange, service, thrown)
    }
  })
}

const yamlType = 'application/yaml; charset=utf-8'

/** Generated on first use from the same table as everything else. */
async function description(service: Service): Promise<string> {
  const [{ describeApi, yamlOptions }, { stringify }] = await Promise.all([
    import('#contract/openapi/openapi.ts'),
    import('yaml'),
  ])
  const { publicUrl, vendor } = service.settings
  return stringify(describeApi({ serverUrl: `${publicUrl}${basePath}`, vendor }), yamlOptions)
}
