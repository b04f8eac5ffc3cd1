import { webScrape, webSearch } from '#contract/operations/web.ts'
import { route } from '../../http/route.ts'
import { answerScrape } from './answer-scrape.ts'
import { answerSearch } from './answer-search.ts'

export const webSearchRoute = route(webSearch, async (call, service) => answerSearch(call, call.body, service))

export const webScrapeRoute = route(webScrape, async (call, service) => answerScrape(call, call.body, service))
