import { type CommandIo, wordCharacters, wrongUsage } from '../command.ts'
import { type AssistantClient, apiKeyPlaceholder, assistantClients, type StartCommand } from './clients.ts'
import { addEntry } from './edit-config.ts'
import { type CarriedFlags, serviceIn, startCommand, unpackedByNpx } from './start-command.ts'

const exampleAddress = 'https://api.service.example/api/v1'

/** Returns the client of that name. Throws wrong usage, with the known names. */
export function clientNamed(command: string, what: string, name: string): AssistantClient {
  const found = assistantClients.find(client => client.name === name)
  if (found) return found
  const names = assistantClients.map(client => client.name).join(', ')
  throw wrongUsage(command, `${what} does not support \`${name.slice(0, wordCharacters)}\`; the clients are ${names}`)
}

/** Prints a client's configuration: its location on stderr, the text alone on stdout. Reads no key. */
export async function printConfig(command: string, name: string, flags: CarriedFlags, io: CommandIo): Promise<void> {
  const client = clientNamed(command, '`--print-config`', name)
  const [file] = client.files({ platform: process.platform, env: io.env })
  const { asTyped } = await import('#agent/words/typed-commands.ts')
  io.output.note(
    asTyped(`Save this in ${file}, or run \`farebox install ${name}\`, which does this for you. ${keyAdvice(client)}`),
  )
  const service = serviceIn(io.env)
  io.output.note(
    asTyped(
      service === null
        ? 'Set the address of your service. To pay from a wallet instead of a key: `farebox wallet create --service URL`.'
        : `To pay from a wallet instead of a key: \`farebox wallet create --service ${service}\`.`,
    ),
  )
  const env = { FAREBOX_BASE_URL: service ?? exampleAddress, FAREBOX_API_KEY: apiKeyPlaceholder(client) }
  const start: StartCommand = { ...startCommand(io.self, flags), env }
  const moment = unpackedByNpx(start)
  if (moment !== null) io.output.note(moment)
  io.output.print((await addEntry(client, '', client.entry(start), { withInput: true })).trimEnd())
}

function keyAdvice({ apiKey, input }: AssistantClient): string {
  if (apiKey === null) return 'It does not support variables: use a wallet, or write the key into it.'
  return input ? 'It asks for the key once and keeps it.' : 'FAREBOX_API_KEY comes from your environment.'
}
