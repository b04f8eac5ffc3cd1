import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { CliError, type CommandIo, listenFailure } from '../command.ts'

type OwnerWalletModule = typeof import('#agent/wallet/owner-wallet.ts')

/**
 * Opens the wallet's folder for one command, and explains its refusals to the user at a terminal. A misspelled variable
 * is refused, because the user would rely on a cap that is ignored; `takesAnyVariable` is for commands that only stop.
 */
export async function withOwnerWallet(
  io: CommandIo,
  data: string | undefined,
  work: (ownerWallet: OwnerWallet, module: OwnerWalletModule) => Promise<number> | number,
  { takesAnyVariable = false } = {},
): Promise<number> {
  const module = await import('#agent/wallet/owner-wallet.ts')
  const { dataFolderOf } = await import('#agent/settings/wallet-settings.ts')
  const { unknownVariables } = await import('#agent/settings/settings.ts')
  const unknown = takesAnyVariable ? [] : unknownVariables(Object.keys(io.env))
  if (unknown.length > 0) throw new CliError(unknown.join(' '), 'Fix it in the environment, then try again.', 2)
  // A folder from a flag has its own service.
  const env = withDataFlag(io.env, data)
  const ownerWallet = module.openOwnerWallet(dataFolderOf(env), env)
  try {
    return await work(ownerWallet, module)
  } catch (error) {
    throw await inItsWords(error, ownerWallet.folder, io.env)
  } finally {
    await ownerWallet.close()
  }
}

/** Explains an error to the user, with commands that act on this wallet. */
async function inItsWords(error: unknown, folder: string, env: CommandIo['env']): Promise<unknown> {
  const [{ asTyped }, { toTheUser }] = await Promise.all([
    import('#agent/words/typed-commands.ts'),
    import('#agent/words/to-the-user.ts'),
  ])
  const place = { folder, isJournalShared: Boolean(env.FAREBOX_JOURNAL_URL?.trim()) }
  const words = (said: string) => toTheUser(asTyped(said, place))
  if (isRefusal(error)) return new CliError(words(error.sentence), words(error.nextStep))
  if (!(error instanceof CliError)) return error
  return new CliError(asTyped(error.message, place), asTyped(error.nextStep, place), error.exitCode)
}

const isRefusal = (error: unknown): error is Error & { sentence: string; nextStep: string } =>
  error instanceof Error && error.name === 'WalletRefusal'

/** Explains why a server on this machine does not start; other errors are returned unchanged. */
export const startFailure = (error: unknown, port: number): unknown =>
  isRefusal(error) ? new CliError(error.sentence, error.nextStep) : listenFailure(error, { host: '127.0.0.1', port })

/** Returns the wallet's addresses, one per rail, or explains what to do if there are none. */
export async function addressesOf(ownerWallet: OwnerWallet): Promise<readonly [string, ...string[]]> {
  const [first, ...others] = await ownerWallet.addresses()
  if (first !== undefined) return [first, ...others]
  throw new CliError(
    `There is no wallet in ${ownerWallet.folder}.`,
    'Create one with `farebox wallet create --service URL`, or give its folder with `--data`.',
  )
}

type Environment = Readonly<Record<string, string | undefined>>

/** For every command that uses a wallet's folder. */
export const dataFlag = { data: { type: 'string' } } as const

/** A folder from a flag takes precedence over the environment's. */
export const withDataFlag = (env: Environment, data: string | undefined): Environment =>
  data === undefined ? env : { ...env, FAREBOX_DATA: data }
