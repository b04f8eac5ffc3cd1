interface PageFile {
  type: string
  text: string
}

/** A page by the path of each file that a browser loads. It contains no secret and no figure, so anyone may read it. */
export type PageFiles = Readonly<Record<string, PageFile>>

interface PageParts {
  title: string
  script: string
  style: string
  /** HTML, for browsers without JavaScript. */
  noScript: string
  /** Paths of an SVG of 16 by 16, on the product's colour. */
  icon: string
  /** The path of the page; `/` if it has an address of its own. */
  path?: string
}

export function pageFiles({ title, script, style, noScript, icon, path = '/' }: PageParts): PageFiles {
  const folder = path === '/' ? '' : path
  return {
    [path]: {
      type: 'text/html; charset=utf-8',
      text: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title}</title>
<link rel="icon" href="${folder}/icon.svg"><link rel="stylesheet" href="${folder}/page.css">
<script type="module" src="${folder}/page.js"></script></head>
<body><div id="page"><noscript>This page needs JavaScript. ${noScript}</noscript></div></body></html>
`,
    },
    [`${folder}/page.js`]: { type: 'text/javascript; charset=utf-8', text: script },
    [`${folder}/page.css`]: { type: 'text/css; charset=utf-8', text: style },
    [`${folder}/icon.svg`]: {
      type: 'image/svg+xml',
      text: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0a6c5c"/>${icon}</svg>\n`,
    },
  }
}
