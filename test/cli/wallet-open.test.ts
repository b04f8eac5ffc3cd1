import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openOwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { forwardingHtml, openerEnvironment } from '#cli/wallet/open-page.ts'
import type { WalletState } from '#pages/wallet/wire.ts'
import { openAgent } from '../agent/open-agent.ts'
import { visit } from '../agent/opened-wallet-page.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { atTerminal, typedInto } from './at-terminal.ts'

const link = 'http://127.0.0.1:4321/#sEcret-_1'

describe('the file that a browser is given', () => {
  test('goes on to the link by itself, and shows it', () => {
    const html = forwardingHtml(link)
    expect(html).toContain(`<meta http-equiv="refresh" content="0;url=${link}">`)
    expect(html).toContain(`<a href="${link}">`)
    expect(html).toContain('<meta name="referrer" content="no-referrer">')
  })

  test('is left by no sign of a link', () => {
    expect(forwardingHtml(`${link}"><script>`)).not.toMatch(/<script|"">/)
  })
})

test('a browser is started with nothing of farebox, and all else', () => {
  const others = { PATH: '/bin', DISPLAY: ':0', MY_FAREBOX_: 'x' }
  const ours = { FAREBOX_WALLET_KEY: '0x1', FAREBOX_JOURNAL_URL: 'postgres://a:b@c', farebox_data: '/d' }
  expect(openerEnvironment({ ...others, ...ours })).toEqual(others)
})

describe('the opener', { tags: ['posix'] }, () => {
  let agent: Awaited<ReturnType<typeof openAgent>>
  let service: Awaited<ReturnType<typeof pretendService>>
  let programs: string
  beforeEach(async () => {
    service = await pretendService()
    agent = await openAgent({ baseUrl: service.baseUrl })
    programs = join(agent.dataFolder, 'programs')
    await mkdir(programs)
    const opener = join(programs, process.platform === 'darwin' ? 'open' : 'xdg-open')
    // Renamed when it is complete, so that no reader gets half of it.
    await writeFile(opener, '#!/bin/sh\n{ printf "%s\\n" "$#" "$1"; env; } > "$SEEN.new" && mv "$SEEN.new" "$SEEN"\n')
    await chmod(opener, 0o700)
  })
  afterEach(async () => {
    await agent.close()
    await service.close()
    await rm(agent.dataFolder, { recursive: true, force: true })
  })

  test('is given a file of its owner alone, no link and no key, and the file goes with the page', async () => {
    const spend = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' } as const
    const call = { origin: new URL(service.baseUrl).origin, operation: null, address: null }
    const { approvalId } = await agent.approvals.ask(spend, 'hash', call)
    const seen = join(agent.dataFolder, 'seen')
    const env = {
      ...{ PATH: `${programs}${delimiter}${process.env.PATH}`, SEEN: seen },
      FAREBOX_PROXY_TOKEN: 'kept-from-browsers',
    }
    const stop = new AbortController()
    const command = typedInto(['wallet', 'open', '--data', agent.dataFolder], [], env, { signal: stop.signal })
    await expect.poll(() => existsSync(seen)).toBe(true)
    const told = await readFile(seen, 'utf8')
    const [count, file = ''] = told.split('\n')
    expect(count).toBe('1')
    expect(told).not.toMatch(/FAREBOX_|kept-from-browsers|127\.0\.0\.1/)
    const modes = await Promise.all([file, dirname(file)].map(async path => (await stat(path)).mode & 0o777))
    expect(modes).toEqual([0o600, 0o700])

    const opened = /url=([^"]+)"/.exec(await readFile(file, 'utf8'))?.[1] ?? ''
    const { ask } = await visit(opened)
    const { approvals } = (await ask('GET /api/wallet')).json as WalletState
    expect(approvals.map(({ id }) => id)).toEqual([approvalId])
    stop.abort()
    const { code, stdout } = await command
    expect([code, stdout]).toEqual([0, expect.stringContaining(opened)])
    expect(existsSync(dirname(file))).toBe(false)
  })

  test('opens nothing before the passphrase of an encrypted wallet', async () => {
    const folder = join(agent.dataFolder, 'encrypted')
    const ownerWallet = openOwnerWallet(folder, {})
    await ownerWallet.create(canaryPassphrase, false)
    await ownerWallet.close()
    const { code, stdout, stderr } = await atTerminal(['open', '--no-browser', '--data', folder], ['another one'])
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/passphrase/i)])
  }, 60_000)
})
