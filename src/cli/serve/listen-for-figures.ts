import type { OpenService } from '#service/running/open-service.ts'
import { listenFailure } from './listen-failure.ts'

/** Figures on an address of their own, where every other path is a 404. Resolves to what ends it. */
export async function listenForFigures(
  at: { host: string; port: number },
  token: string | undefined,
  service: Pick<OpenService, 'figures'>,
): Promise<() => Promise<void>> {
  const [{ Listener }, { isBearer }] = await Promise.all([
    import('#service/http/listener.ts'),
    import('#access/identity/is-bearer.ts'),
  ])
  const listener = await Listener.open(at).catch(error => {
    throw listenFailure(error, at)
  })
  listener.serve(async request => {
    if (new URL(request.url).pathname !== '/metrics') return new Response(null, { status: 404 })
    if (token !== undefined && !isBearer(request.headers.get('authorization'), token)) {
      return new Response(null, { status: 401 })
    }
    const { contentType, text } = (await service.figures()) ?? { contentType: 'text/plain', text: '' }
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  })
  return () => listener.close(0)
}
