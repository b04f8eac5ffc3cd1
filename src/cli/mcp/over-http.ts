import type { AgentSettings } from '#agent/settings/settings.ts'
import type { ServeHttp } from '#mcp/http/serve.ts'
import { CliError, type CommandIo } from '../command.ts'
import { isRefusal } from '../wallet/owner-wallet.ts'

/** Where `farebox mcp --http` listens unless told; next to the service and the proxy. */
export const httpPort = 8404

/** Serves by Streamable HTTP until a signal comes. The token stands in a file of its owner's and is told by its path alone. */
export async function overHttp(
  options: Omit<ServeHttp, 'isToken'>,
  { env }: AgentSettings,
  { isJson, io }: { isJson: boolean; io: CommandIo },
): Promise<number> {
  const stop = io.untilStopped()
  const [{ serveHttp }, { httpToken }, { stateFolderOf }] = await Promise.all([
    import('#mcp/http/serve.ts'),
    import('#agent/loopback/http-token.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const { path, isToken } = inOurWords(() => httpToken(stateFolderOf(env)))
  const serving = await serveHttp({ ...options, isToken }).catch(error => {
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portTaken(options.port) : error
  })
  if (isJson) io.output.printJson({ url: serving.url, tokenFile: path })
  else {
    io.output.print(`farebox mcp is ready at ${serving.url}`)
    io.output.print(`Clients send \`Authorization: Bearer TOKEN\`; the token is in ${path}`)
    io.output.note('Stop it by Ctrl-C.')
  }
  if (!stop.aborted) await new Promise(resolve => stop.addEventListener('abort', resolve, { once: true }))
  await serving.close()
  return 0
}

const portTaken = (port: number): CliError =>
  new CliError(`The port ${port} is taken.`, 'Choose another one by --port, or end what listens there.')

function inOurWords<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw isRefusal(error) ? new CliError(error.sentence, error.nextStep) : error
  }
}
