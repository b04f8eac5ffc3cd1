import { userInfo } from 'node:os'
import { type CommandIo, parseArguments } from '../command.ts'
import { addressesOf, withOwnerWallet } from './owner-wallet.ts'
import { askYes, confirmOwner, requireTerminal } from './terminal.ts'

const options = { data: { type: 'string' } } as const
const byPerson = () => `terminal, ${userInfo().username}`

/** Anybody may stop a wallet, a script too. */
export async function stopWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, { command: 'farebox wallet stop', options })
  return withOwnerWallet(
    io,
    values.data,
    async desk => {
      await desk.stop(byPerson())
      io.output.print('Switched off: nothing is signed and nothing is sent by any process on this journal.')
      return 0
    },
    { takesAnyVariable: true },
  )
}

/** Only its owner starts it again. */
export async function startWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet start'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async desk => {
    await confirmOwner(io, desk)
    await desk.start()
    io.output.print('Switched on. A file `stop` in a data folder still stops the processes on that folder.')
    return 0
  })
}

/** For a key whose journal was left behind, or restored from a copy: the present one counts from now on. */
export async function moveWallet(args: readonly string[], io: CommandIo): Promise<number> {
  const command = 'farebox wallet move'
  const { values } = parseArguments(args, { command, options })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async desk => {
    const addresses = await addressesOf(desk)
    const found = await desk.moved()
    if (found.length === 0) {
      io.output.print(
        `The journal of ${desk.folder} counts already what ${addresses.join(' and ')} pay here; nothing was changed.`,
      )
      return 0
    }
    for (const { address, noted, present } of found) {
      io.output.note(`Noted for ${address}: ${noted}.`)
      io.output.note(`This one is ${present}.`)
    }
    io.output.note('From now on this one counts. Payments that it does not hold count no more against the caps.')
    if (!(await askYes(io, 'Is the other journal, or the newer copy of this one, out of use for good?'))) {
      io.output.print('Nothing was changed.')
      return 1
    }
    await confirmOwner(io, desk)
    await desk.move()
    io.output.print('Noted.')
    return 0
  })
}
