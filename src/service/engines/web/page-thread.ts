/** Where the thread that makes Markdown of pages starts. Answers in the order of the questions. */
import { answerTasks } from '../../threads/answer-tasks.ts'
import { optionalPackage } from '../optional-package.ts'
import type { ConvertAnswer, ConvertRequest } from './page-thread-messages.ts'

interface Linkedom {
  parseHTML(html: string): { document: Record<string, unknown> & { defaultView?: Record<string, unknown> | null } }
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
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`)
  // What defuddle asks of a browser and this DOM does not have.
  document.styleSheets ??= []
  if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: '' })
  document.URL = url
  // With `useAsync` it would ask other servers about a page without text, past the guard of all fetching here.
  const { title, content } = await Defuddle(document, url, { markdown: true, useAsync: false })
  const markdown = content.trim()
  return { page: markdown ? { title: title ?? '', markdown } : null }
}
