// A tag ends where the next one begins: to look beyond it for an end would make `<p <p <p …` take minutes.
const hidden = /<(script|style|template|noscript|head|svg)\b[^<>]*>[\s\S]*?(<\/\1\s*>|$)/gi
const blocks =
  /<\/?(p|div|br|hr|li|ul|ol|tr|table|h[1-6]|section|article|header|footer|blockquote|pre|title)\b[^<>]*>/gi
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** The words of a page, a block a line. Not for showing: nothing of it is safe as markup. */
export function htmlText(html: string): string {
  return html
    .replaceAll(/<!--[\s\S]*?(-->|$)/g, '')
    .replaceAll(hidden, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(blocks, '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(#x?[\da-f]{1,6}|[a-z]{2,6});/gi, (whole, name: string) => decoded(name.toLowerCase()) ?? whole)
    .replaceAll(/\s+/g, space => (space.includes('\n') ? '\n' : ' '))
    .trim()
}

function decoded(name: string): string | undefined {
  if (!name.startsWith('#')) return named[name]
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : undefined
}
