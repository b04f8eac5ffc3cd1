export interface PageFile {
  type: string
  text: string
}

/** What a browser loads of the page. It contains no secret and no figure, so everyone may read it. */
export async function accountFiles(): Promise<Readonly<Record<string, PageFile>>> {
  const { script, style } = await import('./page.generated.ts')
  return {
    '/account': { type: 'text/html; charset=utf-8', text: shell },
    '/account/page.js': { type: 'text/javascript; charset=utf-8', text: script },
    '/account/page.css': { type: 'text/css; charset=utf-8', text: style },
    '/account/icon.svg': { type: 'image/svg+xml', text: icon },
  }
}

const shell = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Your account</title>
<link rel="icon" href="/account/icon.svg"><link rel="stylesheet" href="/account/page.css">
<script type="module" src="/account/page.js"></script></head>
<body><div id="page"><noscript>This page needs JavaScript. The API answers the same: <a href="/docs">/docs</a> lists its operations.</noscript></div></body></html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0a6c5c"/><path d="M4 12V7m4 5V4m4 8V9" stroke="#fff" stroke-width="2"/></svg>
`
