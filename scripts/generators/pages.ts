import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OutputChunk, rolldown } from 'rolldown'

/** A page of `pages/`, as its server sends it: one script and one style. */
interface Page {
  /** The module that the browser loads first. */
  entry: string
  styles: readonly string[]
}

const everyPage = 'pages/kit/style.css'
/** The look of a page with several sections. */
const withSections = 'pages/kit/sections.css'

const pages = {
  wallet: { entry: 'pages/wallet/main.tsx', styles: [everyPage, 'pages/wallet/wallet.css'] },
  console: { entry: 'pages/console/main.tsx', styles: [everyPage, withSections, 'pages/console/console.css'] },
  account: { entry: 'pages/account/main.tsx', styles: [everyPage, withSections, 'pages/account/account.css'] },
} satisfies Record<string, Page>

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Beside the server that sends the page, so that a clone needs no build and the package includes it like any other
 * module.
 */
export const pageBundles = [
  { path: 'src/agent/wallet-page/page.generated.ts', make: () => pageModule(pages.wallet) },
  { path: 'src/operator/console/page.generated.ts', make: () => pageModule(pages.console) },
  { path: 'src/account/page.generated.ts', make: () => pageModule(pages.account) },
]

async function pageModule(page: Page): Promise<string> {
  const { code } = await bundled(page)
  const style = await Promise.all(page.styles.map(path => readFile(join(root, path), 'utf8')))
  return `/** ${page.entry} and its style, bundled; written by \`npm run generate\`. */
export const script = ${JSON.stringify(code)}

export const style = ${JSON.stringify(shortStyle(style.join('\n')))}
`
}

/** Returns the chunks of all pages, so that the licences of their packages are included. */
export const pageChunks = (): Promise<OutputChunk[]> => Promise.all(Object.values(pages).map(bundled))

async function bundled({ entry }: Page): Promise<OutputChunk> {
  await using build = await rolldown({
    cwd: root,
    input: join(root, entry),
    platform: 'browser',
    // The pages' own tsconfig has the settings for JSX.
    tsconfig: join(root, 'pages/tsconfig.json'),
    transform: { target: 'es2024' },
    // An unresolved import is only a warning here, but would fail in a browser.
    onLog: (level, log, tell) => tell(level === 'warn' ? 'error' : level, log),
  })
  const { output } = await build.generate({ format: 'esm', minify: true, comments: false })
  const [chunk, ...others] = output
  if (others.length > 0) throw new Error(`${entry} became ${output.length} files; a page is one script.`)
  return chunk
}

/** Without comments and whitespace that a browser skips. */
const shortStyle = (style: string): string =>
  style
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(/: /g, ':')
    .trim()
