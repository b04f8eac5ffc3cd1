import { displayUsd, microUsd, parseUsd } from '#contract/money.ts'
import { CliError, type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { dataFolder, defaultDataFolder } from '../data/data-folder.ts'
import { runningService } from '../data/service-admin.ts'

const name = 'farebox local'

const usage = `Usage: farebox local fund ADDRESS --usd N [--data DIR]
       farebox local stake ADDRESS --tokens N [--data DIR]
       farebox local env [--rail base|solana] [--data DIR]

fund sends test USDC to an address, EVM (0x…) or Solana (base58), on the local chains of a running \`farebox up\`. It has
no value elsewhere. stake stakes test tokens for an EVM address; each token gives its wallet 1 USD of credit a day there,
within a minute. env prints the settings for the test wallet, for a shell: eval "$(farebox local env)".

  --usd N      amount, for example 25
  --tokens N   number of tokens, for example 2
  --rail NAME  chain that the wallet pays on: base (default) or solana
  --data DIR   the folder of that \`up\` (${defaultDataFolder})`

export const local: Command = {
  usage,
  async run(args, io) {
    const [word = '', ...rest] = args
    if (Object.hasOwn(words, word) && words[word]) return words[word](rest, io)
    const known = '`fund`, `stake` and `env`'
    throw wrongUsage(name, word === '' ? `Choose what to do: ${known}` : `\`${word}\` is not known; there are ${known}`)
  },
}

const words: Readonly<Record<string, (args: readonly string[], io: CommandIo) => Promise<number>>> = {
  fund,
  stake,
  env,
}

/** The key that it prints is one of a local chain, which lies in a plain file anyway. */
async function env(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { rail: { type: 'string', default: 'base' }, data: { type: 'string', default: defaultDataFolder } },
  })
  const payingOn = Object.hasOwn(rails, values.rail) ? rails[values.rail] : undefined
  if (!payingOn) throw wrongUsage(name, '`--rail` takes `base` or `solana`')
  const folder = dataFolder(values.data)
  const running = await runningService(folder)
  if (!running)
    throw new CliError(`No service is running in ${folder.root}.`, 'Start it with `farebox up`, then repeat this.')
  const variables = {
    FAREBOX_BASE_URL: `${running.url}/api/v1`,
    FAREBOX_DATA: folder.agent,
    FAREBOX_OUTPUT_DIR: folder.output,
    ...(await payingOn(folder.root)),
  }
  for (const variable of otherKeys.filter(name => !Object.hasOwn(variables, name))) io.output.print(`unset ${variable}`)
  for (const [variable, value] of Object.entries(variables)) io.output.print(`export ${variable}=${quoted(value)}`)
  return 0
}

/** A key of the other chain that an earlier one left in the shell would pay as well. */
const otherKeys: readonly string[] = ['FAREBOX_WALLET_KEY', 'FAREBOX_SOLANA_KEY', 'FAREBOX_SOLANA_RPC_URL']

/** What makes an agent pay on each chain of the folder. */
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

/** For a POSIX shell, whatever a folder is called. */
const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

async function stake(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseArguments(args, {
    command: name,
    options: { tokens: { type: 'string' }, data: { type: 'string', default: defaultDataFolder } },
    maxPositionals: 1,
  })
  const [address] = positionals
  if (address === undefined) throw wrongUsage(name, 'The address is missing')
  // A token has as many decimals as a dollar of the local chain.
  const amount = values.tokens === undefined ? null : parseUsd(values.tokens)
  if (amount === null || amount <= 0n) throw wrongUsage(name, '`--tokens` takes a number such as 2')
  const { stakeLocally } = await import('#local/evm/chain.ts')
  const staked = await orInWords(stakeLocally({ dataDir: dataFolder(values.data).root, address, amount }))
  const credit = displayUsd(microUsd(staked.stake))
  io.output.print(
    `${staked.address} has ${credit} of credit each day, starting within a minute (${staked.transaction}).`,
  )
  return 0
}

/** What the local chain says, as an error of the command. */
async function orInWords<Value>(asked: Promise<Value>): Promise<Value> {
  const { LocalChainError } = await import('#local/chain/folder.ts')
  return asked.catch(error => {
    if (error instanceof LocalChainError) throw new CliError(error.message, `\`${name} --help\` shows its arguments.`)
    throw error
  })
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
  const { fundFromFaucet } = await import('#local/faucet.ts')
  const order = { dataDir: dataFolder(values.data).root, address, amountMicroUsd: amount }
  const funded = await orInWords(fundFromFaucet(order))
  io.output.print(`${funded.address} has ${displayUsd(funded.balanceMicroUsd)} of test money (${funded.transaction}).`)
  return 0
}
