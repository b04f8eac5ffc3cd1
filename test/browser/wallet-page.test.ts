import { rmSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { canaryPassphrase as passphrase } from '../canary/canaries.ts'
import { expectNoFinding } from './axe.ts'
import { withChromium } from './with-chromium.ts'

withChromium('the page that makes a wallet, in a browser', browser => {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  test.each(['light', 'dark'] as const)(
    'makes a wallet without a script, a complaint or a request elsewhere: %s',
    async colorScheme => {
      const service = await pretendService()
      const folder = temporaryFolder()
      const { settings } = readSettings({ FAREBOX_DATA: folder, FAREBOX_BASE_URL: service.baseUrl })
      const host = await createHost(async () => settings, { file: null, read: async () => null })
      closing.push(
        service.close,
        () => rmSync(folder, { recursive: true, force: true }),
        () => host.close(),
      )
      const now = async () => (await host.now?.()) ?? host
      const link = (await (await now()).offerWallet?.())?.link ?? ''
      const context = await browser().newContext({ colorScheme, viewport: { width: 360, height: 740 } })
      closing.push(() => context.close())
      const view = await context.newPage()
      const asked: string[] = []
      const complaints: string[] = []
      context.on('request', request => asked.push(new URL(request.url()).origin))
      view.on('console', message => complaints.push(message.text()))
      await view.goto(link)
      expect(await view.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
      await expectNoFinding(view)
      await view.getByLabel(/Only in an encrypted file/).check()
      await view.getByLabel(/^Passphrase/).fill(passphrase)
      await view.getByLabel(/Repeat the passphrase/).fill(passphrase)
      await view.getByLabel(/24 hours/).fill('4')
      const { SCREENSHOTS: images } = process.env
      if (images && colorScheme === 'light')
        await view.screenshot({ path: `${images}/make-wallet.png`, fullPage: true })
      await view.getByRole('button', { name: /ask me before/ }).click()
      await expect
        .poll(() => view.getByRole('heading', { level: 1 }).innerText(), { timeout: 30_000 })
        .toBe('Your wallet is ready')
      await expectNoFinding(view)
      const status = (await now()).context({ signal: new AbortController().signal, report: () => {} }).wallet.status()
      expect(await status).toMatchObject({ pays: 'wallet', caps: { perDay: 4_000_000n } })
      expect(new Set(asked)).toEqual(new Set([new URL(link).origin]))
      expect(complaints.filter(text => !/favicon/.test(text))).toEqual([])
    },
    60_000,
  )
})
