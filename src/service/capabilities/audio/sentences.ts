const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** A text in the pieces in which it is spoken; together they are the text. Those without a letter or digit go with the one before. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  for (const { segment } of segmenter.segment(text)) {
    const last = sentences.length - 1
    if (last >= 0 && !/[\p{L}\p{N}]/u.test(segment)) sentences[last] += segment
    else sentences.push(segment)
  }
  return sentences
}
