/** Entry point of the thread that converts pages to Markdown. Answers in the order of the requests. */
import { createRequire } from 'node:module'
import { optionalPackage } from '#host/packages.ts'
import { answerTasks } from '#host/workers/thread-entry.ts'
import type { ConvertAnswer, ConvertRequest } from './web-pages.ts'

/** Maximum nesting of elements; real pages stay below 60, and processing time grows at least with its square. */
const pageDepth = 200

interface Linkedom {
  parseHTML(html: string): { document: Record<string, unknown> & { defaultView?: Record<string, unknown> | null } }
}

/** linkedom's HTML parser; its dependency, so it is resolved from linkedom. */
interface HtmlParser {
  Parser: new (handlers: { onopentag(): void; onclosetag(): void }) => { end(html: string): void }
}

interface Defuddle {
  Defuddle(document: unknown, url: string, options: object): Promise<{ title?: string; content: string }>
}

answerTasks((request: ConvertRequest) =>
  converted(request).catch((error): ConvertAnswer => ({ problem: String(error) })),
)

async function converted({ html, url }: ConvertRequest): Promise<ConvertAnswer> {
  const neededFor = 'Reading web pages'
  const { parseHTML } = await optionalPackage<Linkedom>('linkedom', neededFor)
  const { Defuddle } = await optionalPackage<Defuddle>('defuddle/node', neededFor)
  const whole = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`
  if (isTooDeep(whole)) return { tooDeep: true }
  const { document } = parseHTML(whole)
  // Members that defuddle expects from a browser and this DOM lacks.
  document.styleSheets ??= []
  if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: '' })
  document.URL = url
  // With `useAsync` it would query other servers about a page without text, bypassing our guarded fetcher.
  const { title, content } = await Defuddle(document, url, { markdown: true, useAsync: false })
  const markdown = content.trim()
  return { page: markdown ? { title: title ?? '', markdown } : null }
}

class TooDeep extends Error {}

/** Uses the parser that creates the elements: a page could be written so that a different parser counts fewer. */
function isTooDeep(html: string): boolean {
  const ofLinkedom = createRequire(createRequire(import.meta.url).resolve('linkedom'))
  const { Parser } = ofLinkedom('htmlparser2') as HtmlParser
  let depth = 0
  const onopentag = () => {
    depth++
    if (depth > pageDepth) throw new TooDeep()
  }
  try {
    new Parser({ onopentag, onclosetag: () => void depth-- }).end(html)
    return false
  } catch (error) {
    if (error instanceof TooDeep) return true
    throw error
  }
}
