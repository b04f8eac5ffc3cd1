import type { PageFile } from '../loopback/script-page.ts'

/** What a browser loads of the wallet's page. The bundle is read only now, so that no start of a server waits for it. */
export async function pageFiles(): Promise<Readonly<Record<string, PageFile>>> {
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
<meta name="color-scheme" content="light dark"><title>farebox wallet</title>
<link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script></head>
<body><div id="page"><noscript>This page needs JavaScript. In a terminal, <code>farebox wallet status</code>, <code>receipts</code> and <code>approve</code> show and do the same.</noscript></div></body></html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0a6c5c"/><path d="M4 5h8v6H4z" fill="none" stroke="#fff" stroke-width="1.4"/><circle cx="10" cy="8" r="1" fill="#fff"/></svg>
`
