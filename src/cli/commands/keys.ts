import { z } from 'zod'
import { parseUsd } from '#contract/money.ts'
import { parseArguments, wrongUsage } from '../arguments.ts'
import type { Command, CommandIo } from '../command.ts'
import { type DataFolder, dataFolder, defaultDataFolder } from '../data-folder.ts'
import { openFolderService } from '../folder-service.ts'
import { askService, runningService } from '../service-admin.ts'

const name = 'farebox keys'

const usage = `Usage: farebox keys create --usd N [--label TEXT] [--data DIR] [--json]

Makes a customer with N USD of credit and prints their API key, which is shown this once.

  --usd N       credit to start with, for example 5 or 0.25; 0 for none
  --label TEXT  what the key is for, shown in lists
  --data DIR    the service's folder (${defaultDataFolder})
  --json        key, keyId and account as JSON`

const Created = z.object({ key: z.string(), keyId: z.string(), account: z.string() })

export const keys: Command = {
  usage,
  async run(args, io) {
    const [word, ...rest] = args
    if (word !== 'create')
      throw wrongUsage(
        name,
        word === undefined ? 'Say what to do: `create`' : `\`${word}\` is not known; there is \`create\``,
      )
    return create(rest, io)
  },
}

async function create(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command: name,
    options: {
      usd: { type: 'string' },
      label: { type: 'string', default: '' },
      data: { type: 'string', default: defaultDataFolder },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.usd === undefined) throw wrongUsage(name, '`--usd` is missing')
  const amount = parseUsd(values.usd)
  if (amount === null || amount < 0n) throw wrongUsage(name, '`--usd` takes an amount such as 5 or 0.25, or 0')
  const created = Created.parse(await order(dataFolder(values.data), { usd: values.usd, label: values.label }))
  if (values.json) io.output.printJson(created)
  else io.output.print(created.key)
  return 0
}

/** Through the running service where there is one, because one process owns the folder; else on the folder itself. */
async function order(folder: DataFolder, body: { usd: string; label: string }): Promise<unknown> {
  const running = await runningService(folder)
  if (running) return askService(running, '/admin/v1/keys', body)
  const opened = await openFolderService(folder)
  try {
    return await opened.createKey({ amountMicroUsd: parseUsd(body.usd) ?? 0n, label: body.label })
  } finally {
    await opened.close()
  }
}
