import { join } from 'node:path'
import { displayUsd } from '#contract/money.ts'
import type { Changed } from '../assistants/change-config.ts'
import type { AssistantClient } from '../assistants/clients.ts'
import type { Machine } from '../assistants/machine.ts'
import { CliError, type CommandIo } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { askIt } from './events.ts'
import type { LocalService } from './local-service.ts'

/** The user's MCP client that `up --install` adds farebox to. */
export interface ClientToInstall {
  client: AssistantClient
  machine: Machine
  isSure: boolean
  isJson: boolean
}

/** The client of that name. Throws problems that would otherwise show up only once everything has started. */
export async function clientToInstall(
  command: string,
  given: { install: string; yes: boolean; json: boolean },
  io: CommandIo,
): Promise<ClientToInstall> {
  const [{ clientNamed }, { requireChangeable }] = await Promise.all([
    import('../assistants/print-config.ts'),
    import('../assistants/change-config.ts'),
  ])
  const client = clientNamed(command, '`--install`', given.install)
  const machine = { platform: process.platform, env: io.env }
  const { yes: isSure, json: isJson } = given
  if (!isSure && (isJson || !io.stdin.isTTY))
    throw new CliError(
      isJson
        ? 'With `--json`, farebox cannot ask you to confirm.'
        : 'This is not a terminal, so farebox cannot ask you.',
      `Add \`--yes\` to change the configuration of ${client.title} without being asked.`,
      2,
    )
  await requireChangeable(client, machine)
  return { client, machine, isSure, isJson }
}

/** The client's own wallet: the same folder as that of `install --local`. */
const walletOf = (folder: DataFolder): string => join(folder.root, 'assistant')

/**
 * Adds farebox to the client, with a wallet that holds test money, so that the first paid answer needs no approval.
 * Returns null if the user declines.
 */
export async function installClient(
  { client, machine, isSure, isJson }: ClientToInstall,
  service: Pick<LocalService, 'baseUrl'>,
  folder: DataFolder,
  io: CommandIo,
): Promise<Changed | null> {
  const [{ changeConfig }, { startCommand }] = await Promise.all([
    import('../assistants/change-config.ts'),
    import('../assistants/start-command.ts'),
  ])
  const start = {
    ...startCommand(io.self, { data: walletOf(folder) }),
    env: { FAREBOX_BASE_URL: service.baseUrl },
  }
  const how = { isPrint: false, isSure, isJson, withInput: false, hasWallet: true, stopped: io.untilStopped() }
  const changed = await changeConfig(client, { entry: client.entry(start), start, machine, ...how }, io)
  if (changed === null) return null
  const created = await openTestWallet(service.baseUrl, folder)
  if (!isJson) {
    if (created !== null)
      io.output.print(`Its wallet is ${created.address}, with ${displayUsd(created.money)} of test money.`)
    io.output.print(askIt(client.title))
  }
  return changed
}

/** Creates and funds the client's wallet; null if there is one already, which is kept. */
async function openTestWallet(baseUrl: string, folder: DataFolder) {
  const [{ openOwnerWallet, payeesOffered }, { readOffer }, { testMoneyFor, testMoneyMicroUsd }] = await Promise.all([
    import('#agent/wallet/owner-wallet.ts'),
    import('../wallet/create-wallet.ts'),
    import('../wallet/local-nodes.ts'),
  ])
  // Without the user's environment, which may contain the keys of another wallet.
  const wallet = openOwnerWallet(walletOf(folder), {})
  try {
    const isNew = (await wallet.addresses()).length === 0
    const address = isNew ? await wallet.createLocal(baseUrl) : ''
    for (const payee of payeesOffered(baseUrl, await readOffer(baseUrl))) await wallet.pin(payee, 'farebox up')
    wallet.useService(baseUrl)
    if (!isNew) return null
    await testMoneyFor(baseUrl, wallet.folder)?.(address)
    return { address, money: testMoneyMicroUsd }
  } finally {
    await wallet.close()
  }
}
