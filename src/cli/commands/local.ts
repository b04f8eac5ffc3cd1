import { displayUsd, parseUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import type { Command, CommandIo } from '../command.ts'
import { dataFolder, defaultDataFolder } from '../data-folder.ts'
import { runningService } from '../service-admin.ts'

const name = 'farebox local'

const usage = `Usage: farebox local fund ADDRESS --usd N [--data DIR]
       farebox local env [--data DIR]

fund gives an address test USDC on the local chains of a running \`farebox up\`: an EVM address (0x…) or one of Solana
(base58). It is worth nothing anywhere else. env prints what makes \`farebox mcp\`, \`farebox proxy\` or a program of yours
an agent of that \`up\`, with its test wallet, for a shell: eval "$(npx farebox local env)".

  --usd N     how much, for example 25
  --data DIR  the folder of that \`up\` (${defaultDataFolder})`

export const local: Command = {
  usage,
  async run(args, io) {
    const [word = '', ...rest] = args
    if (Object.hasOwn(words, word) && words[word]) return words[word](rest, io)
    const known = '`fund` and `env`'
    throw wrongUsage(name, word === '' ? `Say what to do: ${known}` : `\`${word}\` is not known; there are ${known}`)
  },
}

const words: Readonly<Record<string, (args: readonly string[], io: CommandIo) => Promise<number>>> = { fund, env }

/** The key that it prints is one of a local chain, which lies in a plain file anyway. */
async function env(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { data: { type: 'string', default: defaultDataFolder } },
  })
  const folder = dataFolder(values.data)
  const running = await runningService(folder)
  if (!running) throw new CliError(`Nothing serves in ${folder.root}.`, 'Start it with `farebox up`, then repeat this.')
  const { loadLocalKeys } = await import('#local/keys.ts')
  const { wallet, payee } = await loadLocalKeys(folder.root)
  const variables = {
    FAREBOX_BASE_URL: `${running.url}/api/v1`,
    FAREBOX_WALLET_KEY: wallet.privateKey,
    FAREBOX_PAYEE: payee.address,
    FAREBOX_DATA: folder.agent,
    FAREBOX_OUTPUT_DIR: folder.output,
  }
  for (const [variable, value] of Object.entries(variables)) io.output.print(`export ${variable}=${quoted(value)}`)
  return 0
}

/** For a POSIX shell, whatever a folder is called. */
const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

async function fund(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { usd: { type: 'string' }, data: { type: 'string', default: defaultDataFolder } },
    maxPositionals: 1,
  })
  const [address] = positionals
  if (address === undefined) throw wrongUsage(name, 'The address is missing')
  const amount = values.usd === undefined ? null : parseUsd(values.usd)
  if (amount === null || amount <= 0n) throw wrongUsage(name, '`--usd` takes an amount such as 25')
  const [{ fundFromFaucet }, { LocalChainError }] = await Promise.all([
    import('#local/faucet.ts'),
    import('#local/local-chain-error.ts'),
  ])
  try {
    const funded = await fundFromFaucet({ dataDir: dataFolder(values.data).root, address, amountMicroUsd: amount })
    io.output.print(
      `${funded.address} has ${displayUsd(funded.balanceMicroUsd)} of test money (${funded.transaction}).`,
    )
    return 0
  } catch (error) {
    if (error instanceof LocalChainError) throw new CliError(error.message, `\`${name} --help\` says what it takes.`)
    throw error
  }
}
