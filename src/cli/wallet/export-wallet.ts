import { CliError, type CommandIo, parseArguments } from '../command.ts'
import { addressesOf, withOwnerWallet } from './owner-wallet.ts'
import { askHidden, askLine, requireTerminal } from './terminal.ts'

const command = 'farebox wallet export'

const confirmation = 'show my keys'

/** Prints the secret keys: to a person's eyes alone, never into a pipe or a file. */
export async function exportWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command, options: { data: { type: 'string' } } })
  requireTerminal(io, command)
  if (!io.output.isTerminal)
    throw new CliError(`\`${command}\` shows keys on a terminal alone.`, 'Run it without redirecting its output.')
  return withOwnerWallet(io, values.data, async desk => {
    const [address] = await addressesOf(desk)
    if (!desk.hasKeyFile())
      throw new CliError(
        'The keys of this wallet are not encrypted by farebox.',
        'They are where you put them: in the environment, or in the file of a local chain.',
      )
    const passphrase = await askHidden(io, 'Passphrase of the wallet (it is not shown):')
    await desk.provePassphrase(passphrase)
    io.output.note(`Anyone who sees the keys of ${address} can take everything the wallet holds, on both chains.`)
    if ((await askLine(io, `To go on, type "${confirmation}":`)) !== confirmation)
      throw new CliError('Nothing was shown.', `Type the words ${confirmation}, without anything else.`)
    const keys = await desk.exportKeys(passphrase)
    if (!keys) throw new CliError('The wallet is gone.', 'Look for its file wallet.json.')
    io.output.print(`Base:   ${keys.evm}`)
    if (keys.solana !== null) io.output.print(`Solana: ${keys.solana}`)
    io.output.note('Clear the screen and its history when you have them.')
    return 0
  })
}
