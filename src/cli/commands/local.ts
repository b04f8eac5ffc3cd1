import { displayUsd, parseUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import type { Command, CommandIo } from '../command.ts'
import { dataFolder, defaultDataFolder } from '../data-folder.ts'

const name = 'farebox local'

const usage = `Usage: farebox local fund ADDRESS --usd N [--data DIR]

Gives an address test USDC on the local chains of a running \`farebox up\`: an EVM address (0x…) or one of Solana
(base58). It is worth nothing anywhere else.

  --usd N     how much, for example 25
  --data DIR  the folder of that \`up\` (${defaultDataFolder})`

export const local: Command = {
  usage,
  async run(args, io) {
    const [word, ...rest] = args
    if (word !== 'fund') {
      throw wrongUsage(
        name,
        word === undefined ? 'Say what to do: `fund`' : `\`${word}\` is not known; there is \`fund\``,
      )
    }
    return fund(rest, io)
  },
}

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
