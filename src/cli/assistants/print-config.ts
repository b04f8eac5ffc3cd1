import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { wrongUsage } from '../arguments.ts'
import type { CommandIo } from '../command.ts'
import { assistantClients, type StartCommand } from './clients.ts'

/** Flags of `farebox mcp` that a client has to give too; a passphrase itself is none of them. */
export interface CarriedFlags {
  tools?: string | undefined
  data?: string | undefined
  'passphrase-file'?: string | undefined
}

/** Prints what a client's configuration has to say: where it goes on stderr, the text alone on stdout. Reads no key. */
export async function printConfig(command: string, client: string, flags: CarriedFlags, io: CommandIo): Promise<void> {
  const found = assistantClients.find(({ name }) => name === client)
  if (!found) {
    const names = assistantClients.map(({ name }) => name).join(', ')
    throw wrongUsage(command, `\`--print-config\` takes one of ${names}`)
  }
  io.output.note(`Put this into ${found.where}`)
  const { asTyped } = await import('#agent/words/as-typed.ts')
  const service = serviceIn(io.env)
  io.output.note(
    asTyped(
      service === null
        ? 'Write the address of your service in; without a key a wallet pays: `farebox wallet create --service URL`.'
        : `Without a key a wallet pays: \`farebox wallet create --service ${service}\`.`,
    ),
  )
  const start = { ...startCommand(io.self, flags), service }
  if (start.args[0]?.includes(`${sep}_npx${sep}`)) io.output.note(unpackedByNpx)
  io.output.print(found.write(start))
}

/** As this terminal names it; an address with a secret in it is not printed. */
function serviceIn({ FAREBOX_BASE_URL }: CommandIo['env']): string | null {
  const given = FAREBOX_BASE_URL?.trim() ?? ''
  if (!URL.canParse(given)) return null
  const { protocol, username, password, search } = new URL(given)
  return /^https?:$/.test(protocol) && `${username}${password}${search}` === '' ? given : null
}

const unpackedByNpx =
  'This farebox was unpacked by npx for the moment and may be gone tomorrow: install it with `npm install -g`, then print this again.'

/** This very installation, by its path, so that nothing is looked up in a PATH that desktop programs do not have. */
function startCommand([program, launcher = '']: CommandIo['self'], flags: CarriedFlags): Omit<StartCommand, 'service'> {
  const path = realPath(launcher)
  const carried = Object.entries({
    '--tools': flags.tools,
    '--data': flags.data && resolve(flags.data),
    '--passphrase-file': flags['passphrase-file'] && resolve(flags['passphrase-file']),
  }).flatMap(([flag, value]) => (value ? [flag, value] : []))
  return { command: program, args: [path, 'mcp', ...carried] }
}

/** A link in a folder of programs may be another one after the next installation. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
