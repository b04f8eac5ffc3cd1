import { displayUsd, formatUsd, microUsd, parseUsd } from '#contract/money.ts'
import { byWord, CliError, type Command, type CommandIo, parseArguments, wrongUsage, wrongValue } from '../command.ts'
import { dataFolder, defaultDataFolder } from '../data/data-folder.ts'
import { runningService } from '../data/service-admin.ts'
import { settingLines } from '../show/shell-settings.ts'

const name = 'farebox local'

const usage = `Usage: farebox local fund ADDRESS --usd N [--data DIR] [--json]
       farebox local stake ADDRESS --tokens N [--data DIR] [--json]
       farebox local env [--rail base|solana] [--data DIR] [--json]

fund   sends test USDC to an address, EVM (0x…) or Solana (base58), on the local chains of a running \`farebox up\`. It
       has no value elsewhere
stake  stakes test tokens for an EVM address; each token gives the wallet 1 USD of credit a day at the local service,
       starting within a minute
env    prints the settings for the test wallet, for a shell: eval "$(farebox local env)", or in PowerShell:
       farebox local env | Invoke-Expression

  --usd N      amount, for example 25
  --tokens N   number of tokens, for example 2
  --rail NAME  chain that the wallet pays on: base (default) or solana
  --data DIR   the data folder of \`farebox up\` (${defaultDataFolder})
  --json       print the result as one line of JSON`

export const local: Command = { usage, run: byWord(name, { fund, stake, env }) }

const shared = {
  data: { type: 'string', default: defaultDataFolder },
  json: { type: 'boolean', default: false },
} as const

/** The printed key belongs to a local chain, and is in an unencrypted file anyway. */
async function env(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { rail: { type: 'string', default: 'base' }, ...shared },
  })
  const payingOn = Object.hasOwn(rails, values.rail) ? rails[values.rail] : undefined
  if (!payingOn) throw wrongValue(name, 'rail', values.rail, '`base` or `solana`')
  const folder = dataFolder(values.data)
  const running = await runningService(folder)
  if (!running)
    throw new CliError(`No service is running in ${folder.root}.`, 'Start it with `farebox up`, then try again.')
  const variables = {
    FAREBOX_BASE_URL: `${running.url}/api/v1`,
    FAREBOX_DATA: folder.agent,
    FAREBOX_OUTPUT_DIR: folder.output,
    ...(await payingOn(folder.root)),
  }
  if (values.json) {
    io.output.printJson(variables)
    return 0
  }
  const unset = otherKeys.filter(name => !Object.hasOwn(variables, name))
  for (const line of settingLines(variables, unset, io.env)) io.output.print(line)
  return 0
}

/** Otherwise a key of the other chain that was set earlier in the shell would pay too. */
const otherKeys: readonly string[] = ['FAREBOX_WALLET_KEY', 'FAREBOX_SOLANA_KEY', 'FAREBOX_SOLANA_RPC_URL']

/** The settings with which an agent pays on each of the folder's chains. */
const rails: Readonly<Record<string, (root: string) => Promise<Record<string, string>>>> = {
  async base(root) {
    const { loadLocalKeys } = await import('#local/keys.ts')
    const { wallet, payee } = await loadLocalKeys(root)
    return { FAREBOX_WALLET_KEY: wallet.privateKey, FAREBOX_PAYEE: payee.address }
  },
  async solana(root) {
    const [{ loadLocalSolanaKeys }, { readChainRecord, solanaFolderOf }] = await Promise.all([
      import('#local/keys.ts'),
      import('#local/chain/folder.ts'),
    ])
    const record = await readChainRecord(solanaFolderOf(root))
    if (!record)
      throw new CliError('No local Solana chain is running here.', '`farebox up` prints the reason when it starts.')
    const { wallet, payee } = await loadLocalSolanaKeys(root)
    return {
      FAREBOX_SOLANA_KEY: wallet.secretKey,
      FAREBOX_SOLANA_RPC_URL: `http://127.0.0.1:${record.port}`,
      FAREBOX_PAYEE: payee.address,
    }
  },
}

async function stake(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { tokens: { type: 'string' }, ...shared },
    maxPositionals: 1,
  })
  const [address] = positionals
  if (address === undefined) throw wrongUsage(name, 'The ADDRESS is missing: 0x and 40 digits, or base58 for Solana')
  // On the local chain, a token has as many decimals as a dollar.
  const amount = values.tokens === undefined ? null : parseUsd(values.tokens)
  if (amount === null || amount <= 0n) throw wrongValue(name, 'tokens', values.tokens ?? '', 'a number such as 2')
  const { stakeLocally } = await import('#local/evm/chain.ts')
  const staked = await orInWords(stakeLocally({ dataDir: dataFolder(values.data).root, address, amount }))
  const daily = microUsd(staked.stake)
  const sentence = `${staked.address} has ${displayUsd(daily)} of credit each day, starting within a minute (${staked.transaction}).`
  const { transaction } = staked
  if (values.json) io.output.printJson({ address: staked.address, creditADayUsd: formatUsd(daily), transaction })
  else io.output.print(sentence)
  return 0
}

/** Turns the local chain's errors into errors of the command. */
async function orInWords<Value>(asked: Promise<Value>): Promise<Value> {
  const { LocalChainError } = await import('#local/chain/folder.ts')
  return asked.catch(error => {
    if (error instanceof LocalChainError) throw new CliError(error.message, `Run \`${name} --help\` for its arguments.`)
    throw error
  })
}

async function fund(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { usd: { type: 'string' }, ...shared },
    maxPositionals: 1,
  })
  const [address] = positionals
  if (address === undefined) throw wrongUsage(name, 'The ADDRESS is missing: 0x and 40 digits, or base58 for Solana')
  const amount = values.usd === undefined ? null : parseUsd(values.usd)
  if (amount === null || amount <= 0n) throw wrongValue(name, 'usd', values.usd ?? '', 'an amount such as 25')
  const { fundFromFaucet } = await import('#local/faucet.ts')
  const order = { dataDir: dataFolder(values.data).root, address, amountMicroUsd: amount }
  const funded = await orInWords(fundFromFaucet(order))
  const { balanceMicroUsd, transaction } = funded
  if (values.json) io.output.printJson({ address: funded.address, balanceUsd: formatUsd(balanceMicroUsd), transaction })
  else io.output.print(`${funded.address} has ${displayUsd(balanceMicroUsd)} of test money (${transaction}).`)
  return 0
}
