import { parseArguments, wrongUsage } from '../arguments.ts'
import { booksOf, openReader, withSameSchema } from '../books.ts'
import type { Command, CommandIo } from '../command.ts'
import { defaultDataFolder } from '../data-folder.ts'
import { sayAudit } from '../say-audit.ts'

const name = 'farebox ledger'

const usage = `Usage: farebox ledger audit [--data DIR] [--json]

Adds up the books again from their rows alone, with code that shares nothing with the ledger. A running service is not disturbed.
Ends with 1 where anything does not add up.

  --data DIR  the service's folder (${defaultDataFolder})
  --json      the whole report as JSON`

export const ledger: Command = {
  usage,
  async run(args, io) {
    const [word, ...rest] = args
    if (word !== 'audit')
      throw wrongUsage(
        name,
        word === undefined ? 'Say what to do: `audit`' : `\`${word}\` is not known; there is \`audit\``,
      )
    return audit(rest, io)
  },
}

async function audit(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: { data: { type: 'string', default: defaultDataFolder }, json: { type: 'boolean', default: false } },
  })
  const reader = await openReader(booksOf(values.data, io.env))
  try {
    const { audit: auditBooks } = await import('#service/ledger/audit.ts')
    const report = await withSameSchema(auditBooks(reader))
    if (values.json)
      io.output.print(JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? `${value}` : value)))
    else for (const line of sayAudit(report)) io.output.print(line)
    return report.ok ? 0 : 1
  } finally {
    await reader.close()
  }
}
