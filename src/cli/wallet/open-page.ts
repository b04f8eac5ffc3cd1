import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { OwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { userName } from '#host/user-name.ts'
import { type CommandIo, parseArguments } from '../command.ts'
import { dataFlag, withDataFlag, withOwnerWallet } from './owner-wallet.ts'
import { confirmOwner, requireTerminal } from './terminal.ts'

const command = 'farebox wallet open'

/**
 * Shows the wallet in its owner's browser until they end it. The passphrase is requested first, so that a program that
 * opens the page can decide nothing on it.
 */
export async function openPage(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: { ...dataFlag, 'no-browser': { type: 'boolean', default: false } },
  })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async ownerWallet => {
    const passphrase = await confirmOwner(io, ownerWallet)
    const served = await servePage(ownerWallet, withDataFlag(io.env, values.data), passphrase)
    const { page } = served
    const link = page.link()
    let removeTraces = async () => {}
    try {
      io.output.print('Your wallet’s page is open on this machine:')
      io.output.print(`  ${link}`)
      io.output.note('The link works once, in the first browser that opens it. If no browser opens, open it yourself.')
      io.output.note('Ctrl-C closes the page.')
      const stop = io.untilStopped()
      const stopped = new Promise<null>(resolve => stop.addEventListener('abort', () => resolve(null), { once: true }))
      if (stop.aborted) return 0
      if (!values['no-browser']) removeTraces = await openInBrowser(link, io.env)
      const end = await Promise.race([page.ended, stopped])
      if (end !== null) io.output.note(`${ends[end]} Run \`${command}\` again to open it.`)
      return 0
    } finally {
      await removeTraces()
      await served.close()
    }
  })
}

const ends = {
  unused: 'The link was not opened within five minutes, so it no longer works.',
  idle: 'The page was closed because it was not used for half an hour, or was open for eight hours.',
} as const

/** Uses the nodes of the local chains if the wallet belongs to `farebox up`. */
async function servePage(ownerWallet: OwnerWallet, given: CommandIo['env'], passphrase: string | null) {
  const [
    { openWalletPage },
    { openOwnerSends },
    { settlerFor },
    { watchHoldings },
    { baseUrlOf, dataFolderOf, atHome },
    { withLocalNodes },
  ] = await Promise.all([
    import('#agent/wallet-page/open-wallet-page.ts'),
    import('#agent/wallet/send-from-wallet.ts'),
    import('./send-money.ts'),
    import('./holdings.ts'),
    import('#agent/settings/wallet-settings.ts'),
    import('./local-nodes.ts'),
  ])
  const env = await withLocalNodes(given, baseUrlOf(given), dataFolderOf(given))
  const watch = watchHoldings(env, passphrase)
  const sends = openOwnerSends(ownerWallet, env)
  const named = env.FAREBOX_OUTPUT_DIR?.trim()
  const page = await openWalletPage({
    ownerWallet,
    place: { folder: ownerWallet.folder, isJournalShared: Boolean(env.FAREBOX_JOURNAL_URL?.trim()) },
    by: `page, ${userName()}`,
    holdings: async () => watch.look(await ownerWallet.addresses()),
    sends,
    settlerFor: url => settlerFor(url, { baseUrl: baseUrlOf(env), folder: ownerWallet.folder }),
    // The output folder of `farebox up` is beside its wallet's folder.
    outputFolders: [
      ...(named ? [resolve(atHome(named))] : []),
      join(ownerWallet.folder, 'output'),
      join(dirname(ownerWallet.folder), 'output'),
    ],
  })
  return {
    page,
    async close() {
      await page.close()
      await watch.close()
      await sends.close()
    },
  }
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

const ownerOnlyFile = 0o600

/**
 * Opens a link in the local user's browser, and resolves to a function that removes its traces. Every user of a machine
 * can read a program's arguments, so the link is in a private file and the browser opens that file. Never throws: if
 * there is no browser, or it may not read the file, the printed link is enough.
 */
async function openInBrowser(link: string, env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  let folder: string | null = null
  const remove = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
  try {
    // A folder made by mkdtemp is private to its owner.
    folder = await mkdtemp(join(tmpdir(), 'farebox-open-'))
    const file = join(folder, 'open.html')
    await writeFile(file, forwardingHtml(link), { mode: ownerOnlyFile, flag: 'wx' })
    const [program, ...args] = openers[process.platform] ?? ['xdg-open']
    const options = { stdio: 'ignore', detached: true, env: openerEnvironment(env) } as const
    const child = spawn(program, [...args, file], options)
    child.once('error', () => {})
    child.unref()
  } catch {
    await remove()
  }
  return remove
}

/** A page that redirects to the link, and shows it for a browser that does not. */
export function forwardingHtml(link: string): string {
  // In URL encoding, no character can end an attribute.
  const { href } = new URL(link)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${href}"><title>farebox wallet</title></head>
<body><p><a href="${href}">Open the wallet’s page</a></p></body></html>
`
}

/** The browser's environment: without farebox settings, which may contain keys. */
export const openerEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^FAREBOX_/i.test(name)))
