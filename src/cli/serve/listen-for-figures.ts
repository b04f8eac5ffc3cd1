import type { OpenService } from '#service/running/open-service.ts'
import { listenFailure } from './listen-failure.ts'

/** Figures on an address of their own, where every other path is a 404. Resolves to what ends it. */
export async function listenForFigures(
  at: { host: string; port: number },
  token: string | undefined,
  service: Pick<OpenService, 'figures'>,
): Promise<() => Promise<void>> {
  const [{ Listener }, { isSameSecret }] = await Promise.all([
    import('#service/http/listener.ts'),
    import('#host/same-secret.ts'),
  ])
  const listener = await Listener.open(at).catch(error => {
    throw listenFailure(error, at)
  })
  listener.serve(async request => {
    if (new URL(request.url).pathname !== '/metrics') return new Response(null, { status: 404 })
    if (token !== undefined && !isSameSecret(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
      return new Response(null, { status: 401 })
    }
    const { contentType, text } = (await service.figures()) ?? { contentType: 'text/plain', text: '' }
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  })
  return () => listener.close(0)
}
