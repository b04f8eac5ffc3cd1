import { readSettings } from '#agent/settings/settings.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { CliError, type Command, type CommandIo, integerFlag, parseArguments, whenAborted } from '../command.ts'
import { withLocalNodes } from '../wallet/local-nodes.ts'
import { dataFlag, startFailure, withDataFlag } from '../wallet/owner-wallet.ts'
import { givenPassphrase, passphraseFlags } from '../wallet/terminal.ts'

const name = 'farebox proxy'

/** The default port. */
const proxyPort = 8403

const usage = `Usage: farebox proxy [--port N] [--passphrase-file FILE | --passphrase-fd N] [--data DIR] [--json]

Serves the OpenAI API on a local address for any client, and pays for its calls from the wallet, within the caps.
Settings come from the environment, as for \`farebox mcp\`. Clients send FAREBOX_PROXY_TOKEN as their API key; if it is
not set, each start prints a new token. FAREBOX_UNPRICED_CALLS=allow permits calls whose price is not known in advance.
Agree to consent policies with \`farebox wallet approve\`.

  --port N                port (${proxyPort}); 0 lets the system choose
  --passphrase-file FILE  file with the wallet's passphrase, readable by you only. Not needed with the system keychain
                          or the systemd credential farebox-passphrase
  --passphrase-fd N       read the passphrase from this open file descriptor, for example 0 for stdin
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox)
  --json                  print what a client needs as one line of JSON`

export const proxy: Command = {
  usage,
  async run(args, io) {
    const { values } = parseArguments(args, {
      command: name,
      options: {
        port: { type: 'string' },
        ...passphraseFlags,
        ...dataFlag,
        json: { type: 'boolean', default: false },
      },
    })
    const port = integerFlag(name, 'port', values.port, 0, 65_535) ?? proxyPort
    const { settings, problems } = readSettings(withDataFlag(io.env, values.data))
    if (problems.length > 0) throw new CliError(problems.join(' '), 'Fix it in the environment, then start again.', 2)
    const stop = io.untilStopped()
    const passphrase = await givenPassphrase(name, values, io.env)
    const [{ createProxy }, { baseUrlOf, dataFolderOf }] = await Promise.all([
      import('#agent/proxy/create-proxy.ts'),
      import('#agent/settings/wallet-settings.ts'),
    ])
    const env = await withLocalNodes(settings.env, baseUrlOf(settings.env), dataFolderOf(settings.env))
    const running = await createProxy({ ...settings, env }, passphrase, port).catch(error => {
      throw error instanceof ToolFailure
        ? new CliError(error.facts.happened, error.facts.next)
        : startFailure(error, port)
    })
    say(running, values.json, io)
    await whenAborted(stop)
    await running.close()
    return 0
  },
}

type Running = Awaited<ReturnType<typeof import('#agent/proxy/create-proxy.ts').createProxy>>

/** The token is only printed here, unless its owner set it. */
function say({ url, token, serviceUrl, wallet }: Running, isJson: boolean, { output, env }: CommandIo): void {
  if (isJson) {
    output.printJson({ url, token, serviceUrl, wallet })
    return
  }
  const payer = wallet === null ? 'your API key pays' : `the wallet ${wallet} pays`
  output.print(`farebox proxy is ready: ${payer} for calls to ${serviceUrl}. Set these in the program’s shell:`)
  output.print(`  export OPENAI_BASE_URL=${url}`)
  output.print(`  export OPENAI_API_KEY=${env.FAREBOX_PROXY_TOKEN ? '…  (your FAREBOX_PROXY_TOKEN)' : token}`)
  output.note('Press Ctrl-C to stop it.')
}
