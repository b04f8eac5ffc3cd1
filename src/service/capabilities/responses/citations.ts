import type { ServiceParametersEcho } from '#contract/operations/service-parameters.ts'

export type Sources = NonNullable<ServiceParametersEcho['web_search_citations']>

/** Where a text cites which source, by the marks that the model was asked for (brief §2.8). */
export const citationsIn = (text: string, sources: Sources) =>
  [...text.matchAll(/\[REF\](\d{1,3})\[\/REF\]/g)].flatMap(({ 0: mark, 1: number, index }) => {
    const source = sources[Number(number)]
    if (!source) return []
    const { url, title } = source
    return [{ type: 'url_citation' as const, url, title, start_index: index, end_index: index + mark.length }]
  })
