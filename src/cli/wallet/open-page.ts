import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { type CommandIo, parseArguments } from '../command.ts'
import { withOwnerWallet } from './owner-wallet.ts'
import { confirmOwner, requireTerminal } from './terminal.ts'

const command = 'farebox wallet open'

/** Shows what waits for the user in their browser, until all of it is answered. The passphrase is asked before. */
export async function openPage(args: readonly string[], io: CommandIo): Promise<number> {
  const { values } = parseArguments(args, {
    command,
    options: { data: { type: 'string' }, 'no-browser': { type: 'boolean', default: false } },
  })
  requireTerminal(io, command)
  return withOwnerWallet(io, values.data, async desk => {
    const waiting = await desk.approvals.list('pending')
    if (waiting.length === 0) {
      io.output.print('Nothing is pending.')
      return 0
    }
    await confirmOwner(io, desk)
    const { openApprovalPage } = await import('#agent/approval-page/serve-page.ts')
    const page = await openApprovalPage({ approvals: desk.approvals, by: `page, ${userInfo().username}` })
    let removeTraces = async () => {}
    try {
      io.output.print(`${waiting.length} ${waiting.length === 1 ? 'question waits' : 'questions wait'} for you at`)
      io.output.print(`  ${page.link}`)
      io.output.note('The link works once, in the first browser that opens it. If no browser opens, open it yourself.')
      io.output.note('Ctrl-C closes the page.')
      const stop = io.untilStopped()
      const stopped = new Promise<void>(resolve => stop.addEventListener('abort', () => resolve(), { once: true }))
      if (!values['no-browser']) removeTraces = await openInBrowser(page.link, io.env)
      await Promise.race([page.answered, stopped])
      return 0
    } finally {
      await removeTraces()
      await page.close()
    }
  })
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

const ownerOnlyFile = 0o600

/**
 * Opens a link in the browser of the local user, and resolves to what removes its traces. Arguments of a
 * program can be read by every user of a machine, so the link stands in a file for its owner alone and the browser is
 * given the file. Never throws: where there is no browser, or one that may not read the file, the printed link is enough.
 */
async function openInBrowser(link: string, env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  let folder: string | null = null
  const remove = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
  try {
    // Made by mkdtemp, a folder is its owner's alone.
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

/** A page that goes on to the link by itself, and shows it for a browser that does not. */
export function forwardingHtml(link: string): string {
  // As a URL is written, no sign in it can end an attribute.
  const { href } = new URL(link)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${href}"><title>farebox: pending approvals</title></head>
<body><p><a href="${href}">Show pending approvals</a></p></body></html>
`
}

/** What the browser is started with: nothing of farebox, whose settings hold keys. */
export const openerEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^FAREBOX_/i.test(name)))
