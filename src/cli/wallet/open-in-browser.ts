import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

const ownerOnlyFile = 0o600

/**
 * Opens a link in the browser of whoever is at this machine, and resolves to what removes its traces. Arguments of a
 * program can be read by every user of a machine, so the link stands in a file for its owner alone and the browser is
 * given the file. Never throws: where there is no browser, or one that may not read the file, the printed link is enough.
 */
export async function openInBrowser(link: string, env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
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
<meta http-equiv="refresh" content="0;url=${href}"><title>farebox: what waits for you</title></head>
<body><p><a href="${href}">Go on to what waits for you</a></p></body></html>
`
}

/** What the browser is started with: nothing of farebox, whose settings hold keys. */
export const openerEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^FAREBOX_/i.test(name)))
