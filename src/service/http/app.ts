import { Hono } from 'hono'
import { methodNotAllowed, routeNotFound } from '#contract/errors/errors.ts'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { operations } from '#contract/operations/operations.ts'
import { basePath } from '#contract/wire/base-url.ts'
import { onceLoaded } from '#host/packages.ts'
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
import { type AppContext, exchangeOf, mount, type ServiceEnvironment, told } from './pipeline.ts'
import type { Route } from './route.ts'
import type { Service } from './service.ts'

/** What is open beside the API, where its operator wants it. */
export interface Doors {
  admin?: Admin
  figures?: Figures
}

/** Builds the API from the operations table. */
export function createApp(
  service: Service,
  routes: readonly Route[],
  { admin, figures }: Doors = {},
): Hono<ServiceEnvironment> {
  const app = new Hono<ServiceEnvironment>()
  for (const route of routes) mount(app, route, service)
  const get = (
    path: string,
    run: (exchange: Exchange, context: AppContext) => Promise<Response>,
    block: Block = 'refuses',
  ) => app.get(path, context => plain({ name: path, block }, context, service, exchange => run(exchange, context)))
  const describe = onceLoaded(() => description(service))
  get(`${basePath}/openapi.yaml`, async exchange => sendText(exchange, await describe(), yamlType))
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
        answerAdmin(exchange, context.req.raw, admin),
      )
    for (const path of adminPaths) app.post(path, answer)
  }
  if (figures) get('/metrics', exchange => answerFigures(exchange, figures), 'refuses wrong tokens')
  app.notFound(context =>
    plain({ name: 'unknown' }, context, service, () => Promise.reject(unknownPath(context.req.path))),
  )
  return app
}

/** A path of the contract with another method is a 405 that names the right one. */
function unknownPath(path: string): ServiceError {
  const known = operations.filter(operation =>
    [operation.path, 'aliasPath' in operation ? operation.aliasPath : undefined].some(
      each => each !== undefined && isPath(each, path),
    ),
  )
  if (!known.length)
    return routeNotFound({
      error: `There is no such path; the API is described at ${basePath}/openapi.yaml.`,
    })
  const methods = [...new Set(known.map(operation => operation.method))].join(', ')
  return methodNotAllowed({ error: `This path supports only ${methods}.` }, { allow: methods })
}

const isPath = (pattern: string, path: string): boolean => {
  const [parts, given] = [`${basePath}${pattern}`.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, at) => part.startsWith('{') || part === given[at])
}

/** What an abuse block of the caller's address does: a right token is known only once the request is read. */
type Block = 'refuses' | 'refuses wrong tokens' | 'spares'

/** The error that a check throws, or the given one. */
function errorOf(error: unknown, check: () => void): unknown {
  try {
    check()
    return error
  } catch (another) {
    return another
  }
}

/** Addresses outside the operations table: the same request id, headers and errors, no credentials. */
async function plain(
  { name, block = 'refuses' }: { name: string; block?: Block },
  context: AppContext,
  service: Service,
  run: (exchange: Exchange) => Promise<Response>,
): Promise<Response> {
  const exchange = exchangeOf(context, service)
  return told(name, exchange, service, async () => {
    setCommonHeaders(exchange, service)
    exchange.isExempt = block === 'spares'
    try {
      requireSingleHeaders(exchange)
      if (block === 'refuses') service.guards.admit(exchange)
      const response = await run(exchange)
      exchange.ended()
      return response
    } catch (error) {
      return fail(
        null,
        exchange,
        service,
        exchange.isExempt ? error : errorOf(error, () => service.guards.admit(exchange)),
      )
    }
  })
}

const yamlType = 'application/yaml; charset=utf-8'

/** Printed on first use from the same table as everything else. */
async function description(service: Service): Promise<string> {
  const [{ describeApi, yamlOptions }, { stringify }] = await Promise.all([
    import('#contract/openapi/openapi.ts'),
    import('yaml'),
  ])
  const { publicUrl, vendor } = service.settings
  return stringify(describeApi({ serverUrl: `${publicUrl}${basePath}`, vendor }), yamlOptions)
}
