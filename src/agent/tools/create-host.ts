import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolHost } from '#toolkit/tool-host.ts'
import { keyFileName } from '#wallet/keys/key-file.ts'
import { localKeyFileName } from '#wallet/keys/local-key-file.ts'
import { lockedAgainMs } from '../bounds.ts'
import { agentFromSettings } from '../open-agent.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { serviceFileName, stateFolderOf } from '../settings/wallet-settings.ts'
import { toolHost } from './tool-host.ts'

/** What opens an encrypted wallet, where something does. */
export interface PassphraseSource {
  /** The file that holds it, where it can be read again. */
  file: string | null
  read(): Promise<string | null>
}

/**
 * The host of a frame, from an environment's settings, as they are when it is asked for: `now` opens the wallet that is
 * there by then.
 */
export async function createHost(
  settingsNow: () => Promise<AgentSettings>,
  passphrase: PassphraseSource,
): Promise<ToolHost> {
  const open = async () => {
    const agent = await agentFromSettings(await settingsNow(), await passphrase.read(), { mayStayLocked: true })
    return { host: toolHost(agent), isLocked: agent.lockedBecause !== null }
  }
  const folder = stateFolderOf((await settingsNow()).env)
  const live = new LiveHost(folder, passphrase.file === null ? [] : [passphrase.file], open)
  return { ...(await live.now()), now: () => live.now(), close: () => live.close() }
}

export interface OpenedHost {
  host: ToolHost
  /** There is a wallet that did not open, by a keychain that was locked for instance, which no file tells of. */
  isLocked: boolean
}

/**
 * The host of a frame that goes by the wallet as it is now: one that was made, changed or unlocked while the server runs is
 * opened by the next call. Calls that are in flight end with the host that they began with.
 */
export class LiveHost {
  readonly #open: () => Promise<OpenedHost>
  readonly #paths: readonly string[]
  #current: { opening: Promise<OpenedHost>; files: string; atMs: number; isLocked: boolean } | null = null
  readonly #former: Promise<OpenedHost>[] = []

  /** `files` lie elsewhere than in the wallet's folder, such as the one with the passphrase. */
  constructor(folder: string, files: readonly string[], open: () => Promise<OpenedHost>) {
    this.#open = open
    this.#paths = [keyFileName, localKeyFileName, serviceFileName].map(name => join(folder, name)).concat(files)
  }

  async now(): Promise<ToolHost> {
    const files = this.#paths.map(path => JSON.stringify(stampOf(path))).join()
    const known = this.#current
    const mayOpenNow = known?.isLocked && performance.now() - known.atMs > lockedAgainMs
    if (known && known.files === files && !mayOpenNow) return (await known.opening).host
    if (known) this.#former.push(known.opening)
    const current = { opening: this.#open(), files, atMs: performance.now(), isLocked: false }
    this.#current = current
    try {
      const { host, isLocked } = await current.opening
      current.isLocked = isLocked
      return host
    } catch (error) {
      // What a person corrects is found by the next call.
      if (this.#current === current) this.#current = null
      throw error
    }
  }

  async close(): Promise<void> {
    const opened = [...this.#former, ...(this.#current ? [this.#current.opening] : [])]
    await Promise.all(opened.map(opening => opening.then(({ host }) => host.close()).catch(() => undefined)))
  }
}

function stampOf(path: string): readonly number[] | null {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ? [found.ino, found.size, found.mtimeMs] : null
}
