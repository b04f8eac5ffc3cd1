import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openService } from '../service/open-service.ts'
import { withChromium } from './with-chromium.ts'

withChromium('the pages of the API, in a browser', browser => {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  test.each(['light', 'dark'] as const)(
    'fit a phone, follow their links and break no rule of their own: %s',
    async colorScheme => {
      const opened = await openService()
      // The pages link below their own address, so a port that passes them on is enough.
      const server = createServer(async (request, response) => {
        const answer = await opened.request(request.url ?? '/')
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        response.end(Buffer.from(await answer.arrayBuffer()))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      closing.push(opened.close, () => server.close())
      const context = await browser().newContext({ colorScheme, viewport: { width: 360, height: 740 } })
      closing.push(() => context.close())
      const view = await context.newPage()
      const messages: string[] = []
      const elsewhere: string[] = []
      view.on('console', message => messages.push(message.text()))
      const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      context.on('request', request => {
        if (!request.url().startsWith(own)) elsewhere.push(request.url())
      })
      for (const [path, link, title] of [
        ['/docs', '/chat/completions', 'POST /chat/completions'],
        ['/docs', '/video/queue', 'POST /video/queue'],
      ] as const) {
        await view.goto(`${own}${path}`)
        expect(await view.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
        await view.getByRole('link', { name: link, exact: true }).click()
        expect(await view.getByRole('heading', { level: 1 }).innerText()).toBe(title)
        expect(await view.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
        if (process.env.SCREENSHOTS)
          await view.screenshot({
            path: `${process.env.SCREENSHOTS}/docs${link.replaceAll('/', '-')}-${colorScheme}.png`,
          })
      }
      // A page without an icon of its own is asked for one.
      expect(messages.filter(text => !text.includes('404'))).toEqual([])
      expect(elsewhere).toEqual([])
    },
  )
})
