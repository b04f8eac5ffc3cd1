import type { Log } from '#host/log.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import type { OpenService } from '#service/running/open-service.ts'
import { listenFailure } from '../command.ts'

/** Where the console is if the configuration does not say. */
const consoleAt = { host: '127.0.0.1', port: 8405 }

/**
 * Serves the console at its own address. If the default one is taken, for example by another service on this machine,
 * the system chooses a port, which links contain. Resolves to a function that ends it.
 */
export async function listenForOperators(
  { listen: at, publicUrl }: Exclude<ConfigFile['admin'], false>,
  service: Pick<OpenService, 'openConsole'>,
  log: Log,
  settingsFile?: Parameters<OpenService['openConsole']>[1],
): Promise<() => Promise<void>> {
  const { Listener } = await import('#service/http/listener.ts')
  const listener = await Listener.open(at ?? consoleAt).catch(error => {
    if (at || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE')
      throw listenFailure(error, at ?? consoleAt, 'in `admin.listen`')
    log.info({}, 'The console’s usual port is taken; `farebox console` prints the one it uses.')
    return Listener.open({ ...consoleAt, port: 0 })
  })
  const own = `http://${loopbackOf(listener.host)}:${listener.port}` as const
  const named = [own, `http://localhost:${listener.port}`]
  const origins = publicUrl ? ([new URL(publicUrl).origin, ...named] as const) : ([own, ...named] as const)
  listener.serve(service.openConsole(origins, settingsFile))
  return () => listener.close(0)
}

/** Operators' commands come from this machine, whatever address the service listens on. */
export function loopbackOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
}
