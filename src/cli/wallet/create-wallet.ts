import { userInfo } from 'node:os'
import { parseArguments } from '../arguments.ts'
import { CliError } from '../cli-error.ts'
import type { CommandIo } from '../command.ts'
import { atDesk } from './at-desk.ts'
import { dataFlag } from './data-flag.ts'
import { givenPassphrase, passphraseFlags } from './given-passphrase.ts'
import { nextSteps } from './next-steps.ts'
import { readOffer } from './read-offer.ts'
import { askHidden, askYes, plainText, requireTerminal } from './terminal.ts'
import { tokenName } from './token-name.ts'

const command = 'farebox wallet create'

/** Nothing is written before the service has answered and the person has agreed to its payee. */
export async function createWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: {
      service: { type: 'string' },
      keychain: { type: 'boolean', default: false },
      ...dataFlag,
      ...passphraseFlags,
    },
  })
  const given = await givenPassphrase(command, values, {})
  if (given === null) requireTerminal(io, command)
  return atDesk(io, values.data, async (desk, { payeesOffered }) => {
    const { service } = values
    // Before a person has answered anything in vain.
    desk.refuseSecond()
    // Who may be paid is its owner's to say, and no keys are made for a wallet that could not say it.
    if (service !== undefined) await desk.isGuarded()
    const payees = service === undefined ? [] : payeesOffered(service, await readOffer(service))
    if (service !== undefined) await confirmPayees(io, payees, given === null)
    const { address, solanaAddress, path } = await desk.create(given ?? (await newPassphrase(io)), values.keychain)
    for (const payee of payees) await desk.pin(payee, `wallet create, ${userInfo().username}`)
    if (service !== undefined) desk.useService(service)
    io.output.print(address)
    io.output.print(solanaAddress)
    io.output.note(`The keys are in ${path}, encrypted. Keep the passphrase: nobody can recover it.`)
    const { asTyped } = await import('#agent/words/as-typed.ts')
    const networks = payees.map(({ network }) => network)
    const wallet = {
      address,
      solanaAddress,
      service,
      networks,
      isInKeychain: values.keychain,
      ...fileOf(values['passphrase-file']),
    }
    const place = { folder: desk.folder, isJournalShared: Boolean(io.env.FAREBOX_JOURNAL_URL?.trim()) }
    for (const line of nextSteps(wallet)) io.output.note(plainText(asTyped(line, place)))
    return 0
  })
}

/** What a shell opens for one command is gone with it. */
const fileOf = (path: string | undefined) =>
  path === undefined || path.startsWith('/dev/') ? {} : { passphraseFile: path }

async function confirmPayees(
  io: CommandIo,
  payees: readonly { network: string; asset: string; payTo: string; origin: string }[],
  asksPerson: boolean,
): Promise<void> {
  if (payees.length === 0)
    throw new CliError(
      'The service offers no payment that this wallet can make.',
      'It pays USDC on Base and on Solana; ask whoever runs the service.',
    )
  for (const payee of payees)
    io.output.note(plainText(`${payee.origin} wants to be paid at ${payee.payTo}, in ${tokenName(payee)}.`))
  if (!asksPerson || (await askYes(io, 'May the wallet pay there, within its caps, without asking again?'))) return
  throw new CliError('No wallet was made.', 'Compare the payee with what the service publishes, then run it again.')
}

async function newPassphrase(io: CommandIo): Promise<string> {
  const passphrase = await askHidden(io, 'Passphrase of the new wallet (it is not shown):')
  if (passphrase === (await askHidden(io, 'The same again:'))) return passphrase
  throw new CliError('The two passphrases differ.', 'Run the command again.')
}
