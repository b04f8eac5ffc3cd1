const reference = '(?:Brief|Published contract) §[\\d.]*\\d(?:(?:,| and) §[\\d.]*\\d)*'
const ALONE = new RegExp(`[ \\t]*/\\*\\* ${reference}\\. \\*/\\n`, 'g')
const REMARK = / \([^()\n]*(?:\bbrief\b|§)[^()\n]*\)/gi
const BEGINNING = new RegExp(`${reference}[.:;] (.)`, 'g')

/**
 * A declaration without the references of its comments to documents that users do not have: a remark such as
 * `(brief §2.6)`, and one that a sentence begins with. Throws the line where another one is left, because what it says has
 * to be said in words that stand alone.
 */
export function publicComments(path: string, text: string): string {
  const stripped = text
    .replaceAll(ALONE, '')
    .replaceAll(REMARK, '')
    .replaceAll(BEGINNING, (_, first: string) => first.toUpperCase())
  for (const [index, line] of stripped.split('\n').entries()) {
    if (/\bbrief\b|§/i.test(line))
      throw new Error(`${path}:${index + 1} names a document that users do not have: ${line.trim()}`)
  }
  return stripped
}
