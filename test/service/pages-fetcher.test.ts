import { expect, test } from 'vitest'
import type { FetchOrder } from '#engines/fetch/guarded-fetcher.ts'
import { WebPages } from '#engines/web/web-pages.ts'
import { openService } from './open-service.ts'

test('pages are fetched by the service’s own way to what callers name, in chats too', async () => {
  const asked: FetchOrder[] = []
  const fetch = async (order: FetchOrder) => {
    asked.push(order)
    return { url: order.url, mimeType: 'text/plain', charset: null, bytes: Buffer.from('Zone A is 2 USD.') }
  }
  const pages = new WebPages()
  const service = await openService({ pages, fetcher: { fetch } })
  const key = await service.key(1)
  const url = 'https://example.com/fares'
  const scraped = await service.post('/augment/scrape', { url }, key)
  expect([scraped.status, await scraped.json()]).toMatchObject([200, { content: 'Zone A is 2 USD.' }])
  const messages = [{ role: 'user', content: `What does ${url} say?` }]
  const more = { max_tokens: 4, service_parameters: { enable_web_scraping: true } }
  expect((await service.post('/chat/completions', { model: 'demo-chat', messages, ...more }, key)).status).toBe(200)
  expect(asked.map(order => order.url)).toEqual([url, url])
  await service.close()
  await pages.close()
})
