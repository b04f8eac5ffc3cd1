/** What a page's server answers to a mistake. */
export interface Answered {
  status: number
  /** The sentences that its user reads, from JSON or from HTML. */
  said: readonly string[]
}

/** One mistake of ten minutes with a page; `Opened` is what its rows need. */
export type PageMistake<Opened> = readonly [
  what: string,
  provoke: (opened: Opened) => Promise<Answered>,
  status: number,
]

/** A page, opened once for all of its rows. */
export interface MisusedPage {
  name: string
  mistakes: readonly { what: string; status: number }[]
  open(): Promise<OpenedPage & { provoke(what: string): Promise<Answered> }>
}

interface OpenedPage {
  /** What is another one each time, and its name in the golden file. */
  names: readonly (readonly [value: string, name: string])[]
  close(): Promise<void>
}

export const misusedPage = <Opened extends OpenedPage>(
  name: string,
  open: () => Promise<Opened>,
  mistakes: readonly PageMistake<Opened>[],
): MisusedPage => ({
  name,
  mistakes: mistakes.map(([what, , status]) => ({ what, status })),
  async open() {
    const opened = await open()
    const provoke = async (what: string) => {
      const mistake = mistakes.find(([name]) => name === what)
      if (!mistake) throw new Error(`There is no row ${what}.`)
      return mistake[1](opened)
    }
    return { names: opened.names, close: () => opened.close(), provoke }
  },
})

/** As a browser asks when its user opens an address. */
export const byUser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

export async function answered(response: Response): Promise<Answered> {
  return { status: response.status, said: sentencesOf(await response.text()) }
}

function sentencesOf(text: string): string[] {
  if (!text.startsWith('{')) return elements(text)
  const { happened, next, error } = JSON.parse(text) as Record<string, unknown>
  return error === undefined ? [String(happened), String(next)] : [String(error)]
}

/** A notice above a page, or the sentences of a page that is nothing else. */
function elements(html: string): string[] {
  const notice = /class="notice" role="status">([^<]*)</.exec(html)
  const found = notice ? [notice] : [...html.matchAll(/<(?:p|h1)>(.*?)<\/(?:p|h1)>/g)]
  // The heading of a page of the wallet that is nothing but a sentence.
  return found.map(([, inside = '']) => plain(inside)).filter(text => text !== 'farebox')
}

const plain = (html: string): string =>
  html
    .replaceAll(/<\/?code>/g, '`')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
