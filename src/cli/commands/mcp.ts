import { type AgentSettings, filledIn, readSettings } from '#agent/settings/settings.ts'
import { catalogue } from '#agent/tools/catalogue.ts'
import { version } from '#contract/version.generated.ts'
import type { EndpointOptions } from '#mcp/endpoint.ts'
import type { ServeHttp } from '#mcp/http/serve.ts'
import { listing } from '#mcp/listing.generated.ts'
import { chooseTools } from '#mcp/listing.ts'
import { serveMcp } from '#mcp/stdio.ts'
import {
  CliError,
  type Command,
  type CommandIo,
  integerFlag,
  parseArguments,
  whenAborted,
  wrongUsage,
} from '../command.ts'
import { agentHost } from '../wallet/agent-host.ts'
import { dataFlag, startFailure, withDataFlag } from '../wallet/owner-wallet.ts'
import { givenPassphrase, passphraseFlags, readPassphraseFile } from '../wallet/terminal.ts'

const name = 'farebox mcp'

/** Default port of `--http`; next to the service and the proxy. */
const httpPort = 8404

const usage = `Usage: farebox mcp [--tools NAMES] [--http [--port N] [--json]] [--passphrase-file FILE | --passphrase-fd N]
                   [--data DIR] [--print-tools]
       farebox mcp --print-config CLIENT

Serves the tools over MCP on stdin and stdout for an assistant to start, or over Streamable HTTP on this machine.
Settings come from the environment: FAREBOX_BASE_URL, FAREBOX_WALLET_KEY, FAREBOX_SOLANA_KEY or FAREBOX_API_KEY,
FAREBOX_OUTPUT_DIR and the caps. Without a wallet or a key only models_find, estimate, job_list, wallet_status and
wallet_receipts work.

  --tools NAMES           tools or sets to serve, separated by commas (FAREBOX_TOOLS): core, wallet, image, video,
                          audio, web; \`default\` is all of these, and \`all\` adds the rarely used tools
  --http                  serve over Streamable HTTP on 127.0.0.1 until stopped; the token for clients is in the file
                          \`mcp-token\` in the wallet's folder
  --port N                port for --http (${httpPort}); 0 lets the system choose
  --json                  print the address and the token's file as one line of JSON
  --passphrase-file FILE  file with the wallet's passphrase, readable by you only. Not needed with the system keychain
                          or the systemd credential farebox-passphrase
  --passphrase-fd N       read the passphrase from this open file descriptor, 3 or above
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox)
  --print-tools           print the tool listing as a client sees it, with its SHA-256, and exit
  --print-config CLIENT   print the configuration for a client, without keys, and exit; \`farebox install\` lists the
                          clients and writes it`

export const mcp: Command = {
  usage,
  async run(args, io) {
    const { values: written } = parseArguments(args, {
      command: name,
      takesEmpty: true,
      options: {
        tools: { type: 'string' },
        http: { type: 'boolean', default: false },
        port: { type: 'string' },
        json: { type: 'boolean', default: false },
        ...passphraseFlags,
        ...dataFlag,
        'print-tools': { type: 'boolean', default: false },
        'print-config': { type: 'string' },
      },
    })
    // A client that fills in the user's settings also passes flags for settings that the user left empty.
    const values = filledIn(written)
    if (written['print-config'] !== undefined) {
      const { printConfig } = await import('../assistants/print-config.ts')
      await printConfig(name, written['print-config'], values, io)
      return 0
    }
    const env = withDataFlag(io.env, values.data)
    const { settings, problems } = readSettings(
      values.tools === undefined ? env : { ...env, FAREBOX_TOOLS: values.tools },
    )
    if (problems.length > 0) throw new CliError(problems.join(' '), 'Fix it in the environment, then start again.', 2)
    chosen(() => chooseTools(listing, settings.tools))
    if (values['print-tools']) {
      const { printTools } = await import('#mcp/listing.ts')
      io.output.printJson(printTools(settings.tools))
      return 0
    }
    const port = integerFlag(name, 'port', values.port, 0, 65_535)
    if (!values.http && (port !== undefined || values.json)) {
      throw wrongUsage(name, '`--port` and `--json` need `--http`')
    }
    const passphrase = await givenPassphrase(name, values, io.env, values.http ? undefined : firstFreeDescriptor)
    const options = {
      name: 'farebox',
      version,
      catalogue,
      tools: settings.tools,
      host: agentHost(settings, againFrom(values['passphrase-file'], passphrase, io)),
    }
    if (!values.http) return overStdio(options, io)
    return overHttp({ ...options, port: port ?? httpPort }, settings, { isJson: written.json, io })
  },
}

/** A file is reread if the wallet has changed; a descriptor can be read only once. */
function againFrom(file: string | undefined, first: string | null, { env }: CommandIo) {
  return {
    file: file ?? null,
    read: async () => (file === undefined ? first : ((await readPassphraseFile(file, env).catch(() => null)) ?? first)),
  }
}

/** The descriptors below it are stdin, stdout and stderr, which the client uses. */
const firstFreeDescriptor = 3

/** The code for stdio is imported above, because loading files together makes an assistant start sooner. */
async function overStdio(options: EndpointOptions, io: CommandIo): Promise<number> {
  if (io.stdin.isTTY) await sayWhatFor(io)
  const session = serveMcp(options)
  const stop = io.untilStopped()
  stop.addEventListener('abort', () => void session.close(), { once: true })
  await session.closed
  return 0
}

/** A user who starts it by hand would see nothing happen, so this explains that an assistant talks to it. */
async function sayWhatFor({ output }: CommandIo): Promise<void> {
  const { asTyped } = await import('#agent/words/typed-commands.ts')
  output.note('farebox mcp is waiting for an MCP client: an assistant starts it and talks to it on stdin and stdout.')
  output.note(asTyped('To add it to your assistant, press Ctrl-C and run `farebox install CLIENT`.'))
  output.note(asTyped('To call its tools from this terminal, run `farebox call --list`.'))
}

/** An unknown tool name is wrong usage, with the known names. */
function chosen<Result>(choose: () => Result): Result {
  try {
    return choose()
  } catch (error) {
    throw wrongUsage(name, (error instanceof Error ? error.message : 'Unknown tool names').replace(/\.$/, ''))
  }
}

/** Serves over Streamable HTTP until a signal comes. The token is in a private file, and only its path is printed. */
async function overHttp(
  options: Omit<ServeHttp, 'isToken'>,
  { env }: AgentSettings,
  { isJson, io }: { isJson: boolean; io: CommandIo },
): Promise<number> {
  const stop = io.untilStopped()
  const [{ serveHttp }, { httpToken }, { dataFolderOf }] = await Promise.all([
    import('#mcp/http/serve.ts'),
    import('#agent/loopback/http-token.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const open = async () => {
    const { path, isToken } = httpToken(dataFolderOf(env))
    return { path, serving: await serveHttp({ ...options, isToken }) }
  }
  const { path, serving } = await open().catch(error => {
    throw startFailure(error, options.port)
  })
  if (isJson) io.output.printJson({ url: serving.url, tokenFile: path })
  else {
    io.output.print(`farebox mcp is ready at ${serving.url}`)
    io.output.print(`Clients send \`Authorization: Bearer TOKEN\`; the token is in ${path}`)
    io.output.note('Press Ctrl-C to stop it.')
  }
  await whenAborted(stop)
  await serving.close()
  return 0
}
