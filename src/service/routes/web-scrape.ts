import { webScrape } from '#contract/augment.ts'
import { route } from '../route.ts'
import { answerScrape } from '../web/answer-scrape.ts'

export const webScrapeRoute = route(webScrape, async (call, service) => answerScrape(call, call.body, service))
