import type { OpenService } from '#service/running/open-service.ts'
import { CliError } from '../command.ts'

/** A sentence for the refusals that a person can mend; others as they are. */
export function listenFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new CliError(`Port ${port} is taken.`, 'Stop what listens there, or set another in `listen`.')
  if (code === 'EACCES') return new CliError(`Port ${port} is not for this user.`, 'Set one from 1024 on in `listen`.')
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new CliError(`This machine has no address ${host}.`, 'Set one that it has in `listen`, such as 127.0.0.1.')
  }
  return error
}

/** Figures on an address of their own, where every other path is a 404. Resolves to what ends it. */
export async function listenForFigures(
  at: { host: string; port: number },
  token: string | undefined,
  service: Pick<OpenService, 'figures'>,
): Promise<() => Promise<void>> {
  const [{ Listener }, { isSameSecret }] = await Promise.all([
    import('#service/http/listener.ts'),
    import('#host/signatures.ts'),
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
