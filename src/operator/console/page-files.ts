export interface ConsoleFile {
  type: string
  text: string
}

/** What a browser loads of the console. It contains no secret and no figure, so everyone who finds the port may read it. */
export async function consoleFiles(): Promise<Readonly<Record<string, ConsoleFile>>> {
  const { script, style } = await import('./page.generated.ts')
  return {
    '/': { type: 'text/html; charset=utf-8', text: shell },
    '/page.js': { type: 'text/javascript; charset=utf-8', text: script },
    '/page.css': { type: 'text/css; charset=utf-8', text: style },
    '/icon.svg': { type: 'image/svg+xml', text: icon },
  }
}

const shell = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>farebox console</title>
<link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script></head>
<body><div id="page"><noscript>This page needs JavaScript. In a terminal, <code>farebox ledger</code> and <code>farebox keys</code> show and do much of the same.</noscript></div></body></html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0a6c5c"/><path d="M4 12V7m4 5V4m4 8V9" stroke="#fff" stroke-width="2"/></svg>
`
